#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/time.hpp"

namespace unisono::testbed {

/// What goes wrong with one server.
struct ServerFault {
    double slow = 1;       ///< at least 1: every request takes so many times as long
    Time hangs_until = 0;  ///< no request is done before
    bool down = false;     ///< every request fails
};

/// What is to go wrong, on demand. A value; the file system keeps one behind a lock.
struct Faults {
    struct BadRange {
        std::uint64_t file = 0;  ///< inode number; the range must go when the file does
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };

    std::vector<BadRange> bad_ranges;
    std::optional<std::uint64_t> full_at_bytes;  ///< no file grows beyond
    std::map<std::uint32_t, ServerFault> servers;

    /// Of files themselves, not of servers.
    [[nodiscard]] bool any_for_files() const { return !bad_ranges.empty() || full_at_bytes; }
    [[nodiscard]] bool is_bad(std::uint64_t file, std::uint64_t begin, std::uint64_t end) const;

    /// How many of `bytes` bytes at `offset` may be written to a file of so many bytes: those that
    /// it has do not make it grow.
    [[nodiscard]] std::uint64_t room(std::uint64_t offset, std::uint64_t bytes,
                                     std::uint64_t file_bytes) const;
};

}  // namespace unisono::testbed
