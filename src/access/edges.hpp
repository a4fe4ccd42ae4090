#pragma once

#include "support/hash.hpp"
#include "unisono/view.hpp"

namespace unisono {

/// What says whether pieces of several ranks lie end to end, without a map of their bytes: a hash
/// of the offset of each end of a piece, less one of each beginning. Where one piece ends and
/// another begins nothing is left, so the sum of all is that of the whole range if each of its
/// bytes is in one piece, and no other byte in any; and only then, as far as hashes tell.
struct EdgeSum {
    Hash128 sum{};

    void add(std::uint64_t begin, std::uint64_t end);
    friend bool operator==(EdgeSum const&, EdgeSum const&) = default;
};

/// Cost: 2 ns a piece.
EdgeSum edges_of(Tiling const& tiling, Positions positions);

}  // namespace unisono
