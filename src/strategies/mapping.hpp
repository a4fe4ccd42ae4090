#pragma once

#include <cstdint>

#include "unisono/extent.hpp"

namespace unisono {

/// Whether a rank's own access is faster through a mapping of the file than by system calls, where
/// both can be done (docs/performance.md has the measurements). Reads never are: pread copies as
/// fast, and needs no pages set up. Overwrites are, once whole pages amortise the set-up.
inline bool mapping_pays(Direction direction, std::uint64_t rank_bytes,
                         std::uint64_t mean_piece_bytes) {
    constexpr std::uint64_t rank_bytes_least = 1 << 20;
    constexpr std::uint64_t piece_bytes_least = 16 << 10;
    return direction == Direction::write && rank_bytes >= rank_bytes_least &&
           mean_piece_bytes >= piece_bytes_least;
}

}  // namespace unisono
