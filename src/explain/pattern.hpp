#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unisono/realm.hpp"

namespace unisono {

/// What a pattern is made of. Sizes in bytes.
struct PatternSizes {
    std::uint32_t ranks = 1;
    std::uint64_t piece_bytes = 1;
    std::uint64_t bytes = 0;  ///< of all ranks together, rounded to pieces; 0: a few pieces each
};

/// A way in which ranks share out a file in one collective call: those of the benchmark
/// (bench/pattern_table.cpp), without MPI.
struct Pattern {
    std::string_view name;
    std::string_view summary;
    std::uint64_t piece_bytes;  ///< unless said; of tile, block-3d and lattice: an element
    /// By rank, what it asks for. Ranks and a piece's bytes are at least one. Pure.
    std::vector<Realm> (*requests)(PatternSizes const&);
};

std::span<Pattern const> all_patterns();

/// Null when there is none of that name.
Pattern const* find_pattern(std::string_view name);

}  // namespace unisono
