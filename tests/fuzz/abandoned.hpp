#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

/// Nonblocking collective writes that are pending, and files that are open, when MPI_Finalize is
/// called. MPI does not allow it; Unisono writes what it has begun.
class Abandoned {
public:
    /// Begins the calls, which all ranks of `everyone` take part in.
    Abandoned(std::uint64_t seed, std::string const& folder, MPI_Comm everyone);
    ~Abandoned();
    Abandoned(Abandoned const&) = delete;
    Abandoned& operator=(Abandoned const&) = delete;

    /// After MPI_Finalize: prints what is missing.
    [[nodiscard]] bool all_written() const;

private:
    struct OpenFile {
        int descriptor = -1;
        std::vector<std::uint8_t> contents;
        std::vector<std::uint8_t> mine;  ///< this rank's part, which the calls write from
    };

    void begin(OpenFile& file, std::string const& path, MPI_Comm everyone);

    std::uint64_t seed_;
    std::vector<OpenFile> files_;
};

}  // namespace fuzz
