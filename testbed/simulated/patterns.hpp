#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/view.hpp"

namespace unisono::simulated {

/// One rank's part of one collective call: all bytes of a view.
struct PatternCall {
    Tiling view;
    std::uint64_t bytes = 0;
};

/// Who asks for which bytes; all ranks for equally many, and all together for a file without holes.
struct Pattern {
    std::string_view name;
    std::string_view summary;
    /// The calls of one rank, which has `bytes_per_rank` bytes in all, or a few less.
    /// Cost: O(calls), or O(pieces) where they are irregular.
    std::vector<PatternCall> (*calls)(std::uint32_t rank, std::uint32_t ranks,
                                      std::uint64_t bytes_per_rank);
};

std::vector<Pattern> const& all_patterns();
/// Throws std::invalid_argument that names the valid ones.
Pattern const& pattern_named(std::string const& name);

}  // namespace unisono::simulated
