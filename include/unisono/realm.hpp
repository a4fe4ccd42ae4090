#pragma once

#include <cstdint>

#include "unisono/view.hpp"

namespace unisono {

/// A set of file bytes in ascending order: what an aggregator owns (its file realm), or what a
/// data server holds. A view and an interval of it, so that stripes cost O(1), however many.
///
/// A *position* in a realm counts its bytes, not the file's: a realm of one server's stripes has
/// positions that ascend with the offsets in that server's object.
struct Realm {
    Tiling tiling{};  ///< ascending
    Positions positions{};

    [[nodiscard]] bool empty() const { return positions.empty(); }
    [[nodiscard]] std::uint64_t bytes() const { return positions.bytes(); }
};

/// All of `range`.
Realm contiguous_realm(Extent range);

/// Of `range`, the blocks [first + k * period, + unit), k = 0, 1, ... 0 < unit <= period.
Realm striped_realm(std::uint64_t first, std::uint64_t unit, std::uint64_t period, Extent range);

/// The part of the realm within `range`. Cost: O(depth).
Realm within(Realm const& realm, Extent range);

/// How many of a view's bytes the realm has. The view ascends. Cost: O(pieces of the one that has
/// fewer), each O(depth).
std::uint64_t common_bytes(Tiling const& view, Positions positions, Realm const& realm);

/// First to last byte, end exclusive; empty when the realm is.
Extent touched(Realm const& realm);

}  // namespace unisono
