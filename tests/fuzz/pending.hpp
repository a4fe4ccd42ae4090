#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fuzz {

struct Access;
struct View;

/// The bytes of a file that one access touches: ascending extents [begin, end) that do not overlap.
class Touched {
public:
    Touched() = default;
    Touched(Access const& access, View const& view);
    /// All of a range, from the first byte of these to the last.
    static Touched range_of(std::vector<Touched> const& all);
    [[nodiscard]] bool meets(Touched const& other) const;

private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents_;
};

/// How the ranks complete what is pending.
enum class Completion : std::uint8_t {
    each,  ///< MPI_Wait for one after another; every rank begins with another one
    waitall,
    waitany,
    waitsome,
    testall,
    testany,
    testsome,
    status,    ///< MPI_Request_get_status until it is over, then MPI_Wait
    free_all,  ///< MPI_Request_free: it goes on, and is over with the next MPI_File_sync
};

}  // namespace fuzz
