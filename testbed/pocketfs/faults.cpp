#include "pocketfs/faults.hpp"

#include <algorithm>

namespace unisono::testbed {

bool Faults::is_bad(std::uint64_t file, std::uint64_t begin, std::uint64_t end) const {
    return std::any_of(bad_ranges.begin(), bad_ranges.end(), [&](BadRange const& bad) {
        return bad.file == file && begin < bad.end && bad.begin < end;
    });
}

std::uint64_t Faults::room(std::uint64_t offset, std::uint64_t bytes) const {
    if (!full_at_bytes) return bytes;
    return offset >= *full_at_bytes ? 0 : std::min(bytes, *full_at_bytes - offset);
}

}  // namespace unisono::testbed
