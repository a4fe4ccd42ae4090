#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace unisono {

/// What went wrong in one place on one rank. Local to that rank: execute/ makes all ranks agree.
struct Error {
    /// Offset of an error that concerns no byte in particular.
    static constexpr std::uint64_t whole_file = std::numeric_limits<std::uint64_t>::max();

    int code = 0;              ///< errno; 0 is no error
    char const* call = "";     ///< the system call that said so, a string literal
    std::uint64_t offset = 0;  ///< file offset of the first byte that was not transferred

    explicit operator bool() const { return code != 0; }
};

/// Outcome of a list of file accesses. Bytes before `stopped_at` (in the list's ascending order)
/// were transferred, none after it.
struct IoResult {
    static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t bytes = 0;  ///< really transferred
    std::uint64_t stopped_at =
        nowhere;  ///< file offset of the first missing byte: error or end of file
    Error error;  ///< none at the end of the file: a short read is a success

    /// Both together: all bytes, the first that is missing, and the error of the lowest offset.
    void add(IoResult const& part) {
        bytes += part.bytes;
        stopped_at = std::min(stopped_at, part.stopped_at);
        if (part.error && (!error || part.error.offset < error.offset)) error = part.error;
    }
};

}  // namespace unisono
