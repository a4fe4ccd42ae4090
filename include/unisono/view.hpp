#pragma once

#include <cstdint>
#include <optional>

#include "unisono/extent.hpp"
#include "unisono/shape.hpp"

namespace unisono {

/// A shape laid end to end: tile t begins at origin + t * extent. Describes a file view (origin =
/// displacement, endless) as well as a memory buffer (origin 0, `count` tiles).
///
/// A data byte is named by its *position*: how many data bytes come before it. A collective call
/// asks for one interval of positions of its view.
struct Tiling {
    ShapePtr shape;
    std::int64_t origin = 0;
    std::int64_t extent = 0;

    /// Pieces ascend strictly over all tiles: offsets can be turned into positions.
    [[nodiscard]] bool ascending() const {
        return shape->ascending && extent >= shape->high - shape->low;
    }
    /// All data is one contiguous run that begins at origin + shape->low.
    [[nodiscard]] bool dense() const { return shape->dense_at(extent); }
};

/// The same tiling with as many tiles taken together as make walking it cheap: a type of one short
/// piece, laid end to end, becomes a loop. Tilings that do not ascend stay as they are, because
/// their bounds are those of whole tiles. Cost: O(1).
Tiling with_long_tiles(Tiling const& tiling);

/// Data positions of one tiling: a rank's view, a realm, memory. One type for all of these, because
/// whatever walks or cuts a tiling does so in each of them.
using Positions = Interval<struct OfData>;

/// Offset of the data byte at `position`. The shape must not be empty. Cost: O(depth * log list).
std::int64_t offset_of(Tiling const& tiling, std::uint64_t position);

/// Number of data bytes whose offset is below `offset`. Only for ascending tilings.
/// Cost: O(depth * log list).
std::uint64_t position_of(Tiling const& tiling, std::int64_t offset);

/// The first of the units of `unit_bytes` data bytes each that begins at `offset` or later, which
/// tiles that run into each other have, too. Only where the shape ascends, has whole units, and
/// the extent is positive. Nothing: 64 bits cannot count it. Cost: O(depth * log list).
std::optional<std::uint64_t> first_unit_from(Tiling const& tiling, std::int64_t offset,
                                             std::uint64_t unit_bytes);

/// Offsets [first, last + 1) touched by `positions`. O(depth) where the tiling ascends, else
/// O(tiles' bounds): a superset then.
Extent touched(Tiling const& tiling, Positions positions);

/// Data may lie before it.
constexpr std::int64_t offset_end = std::int64_t{1} << 62;

/// Whether `bytes` bytes from the position `first` * `unit_bytes` on are before offset_end, so
/// that whatever is derived from these fits into 64 bits, too. Cost: O(depth * log list).
bool within_reach(Tiling const& tiling, std::uint64_t first, std::uint64_t unit_bytes,
                  std::uint64_t bytes);

/// Those of `positions` whose offsets lie in `window`. Only for ascending tilings.
Positions within(Tiling const& tiling, Positions positions, Extent window);

/// About how many contiguous pieces `positions` has: there are at most `shape->pieces` more. O(1).
std::uint64_t piece_estimate(Tiling const& tiling, Positions positions);

/// How many pieces of the tiling's own `positions` have. O(depth).
struct PieceCount {
    std::uint64_t pieces = 0;
    bool exact = true;  ///< else a part of the shape was cut whose pieces differ
};
PieceCount count_pieces(Tiling const& tiling, Positions positions);

/// OR of the offsets and lengths of all pieces of `positions` (an upper bound of its bits): the
/// lowest bit that is set is a granule that divides every piece.
std::uint64_t alignment_of(Tiling const& tiling, Positions positions);

}  // namespace unisono
