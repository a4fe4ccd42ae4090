#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "access.hpp"
#include "contents.hpp"

namespace bench {

/// The measured file, prepared and verified by plain POSIX calls, never through MPI-IO. All
/// functions are local to the calling rank and throw std::system_error.
class TestFile {
public:
    /// Opens, and creates if need be.
    explicit TestFile(std::string const& path);
    ~TestFile();
    TestFile(TestFile const&) = delete;
    TestFile& operator=(TestFile const&) = delete;

    [[nodiscard]] std::uint64_t size_bytes() const;
    void write(std::span<std::byte const> bytes, std::uint64_t offset) const;
    /// Reads as much as there is; returns the number of bytes.
    std::size_t read(std::span<std::byte> bytes, std::uint64_t offset) const;
    void sync() const;
    /// Syncs, and says how many bytes that took to the disk; 0 also where the kernel cannot tell
    /// (before Linux 6.5).
    [[nodiscard]] std::uint64_t sync_the_rest() const;
    void flip_byte(std::uint64_t offset) const;

    /// Fills [part.offset, part.offset + part.bytes) with the contents of `salt`; where `coverage`
    /// has a hole, always with the earlier contents.
    void fill(Piece part, Comb coverage, Salt salt) const;
    /// The same, but touches no hole.
    void fill_leaving_holes(Piece part, Comb coverage, Salt salt) const;

    struct Finding {
        std::optional<std::uint64_t> wrong_offset;  ///< first byte that is not what it should be
        std::uint64_t spoilt_hole_bytes = 0;        ///< bytes in holes that are not as they were
    };
    /// Compares the part of the file with what a write by all ranks leaves: covered bytes as asked,
    /// the holes as before (zero in a fresh file).
    [[nodiscard]] Finding verify(Piece part, Comb coverage, bool fresh) const;

private:
    int descriptor_ = -1;
};

/// Removes the file if it is there.
void unlink_file(std::string const& path);

}  // namespace bench
