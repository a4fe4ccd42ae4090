#include "pocketfs/faults.hpp"

#include <algorithm>

namespace unisono::testbed {

bool Faults::is_bad(std::uint64_t file, std::uint64_t begin, std::uint64_t end) const {
    return std::any_of(bad_ranges.begin(), bad_ranges.end(), [&](BadRange const& bad) {
        return bad.file == file && std::max(begin, bad.begin) < std::min(end, bad.end);
    });
}

std::uint64_t Faults::room(std::uint64_t offset, std::uint64_t bytes,
                           std::uint64_t file_bytes) const {
    if (!full_at_bytes) return bytes;
    auto const end = std::max(*full_at_bytes, file_bytes);
    return offset >= end ? 0 : std::min(bytes, end - offset);
}

}  // namespace unisono::testbed
