#include "unisono/view.hpp"

#include <algorithm>
#include <cassert>

namespace unisono {
namespace {

std::size_t entry_at_position(Shape const& shape, std::uint64_t position) {
    auto const after =
        std::upper_bound(shape.data_before.begin(), shape.data_before.end() - 1, position);
    return static_cast<std::size_t>(after - shape.data_before.begin()) - 1;
}

std::int64_t offset_in(Shape const& shape, std::uint64_t position) {
    switch (shape.kind) {
        case Shape::Kind::dense:
            return shape.start + static_cast<std::int64_t>(position);
        case Shape::Kind::repeat: {
            auto const index = position / shape.child->bytes;
            return shape.start + static_cast<std::int64_t>(index) * shape.stride +
                   offset_in(*shape.child, position % shape.child->bytes);
        }
        case Shape::Kind::blocks: {
            auto const entry = entry_at_position(shape, position);
            return shape.start + shape.offsets[entry] +
                   static_cast<std::int64_t>(position - shape.data_before[entry]);
        }
        case Shape::Kind::list: {
            auto const entry = entry_at_position(shape, position);
            return shape.start + shape.offsets[entry] +
                   offset_in(*shape.children[entry], position - shape.data_before[entry]);
        }
    }
    return 0;
}

std::int64_t entry_low(Shape const& shape, std::size_t entry) {
    return shape.offsets[entry] +
           (shape.kind == Shape::Kind::list ? shape.children[entry]->low : 0);
}

// Last entry that begins at or before `offset`; only when entry 0 does.
std::size_t entry_at_offset(Shape const& shape, std::int64_t offset) {
    std::size_t low = 0;
    std::size_t high = shape.offsets.size();
    while (high - low > 1) {
        auto const middle = low + (high - low) / 2;
        (entry_low(shape, middle) <= offset ? low : high) = middle;
    }
    return low;
}

std::uint64_t bytes_below(Shape const& shape, std::int64_t offset) {
    if (offset <= shape.low) return 0;
    if (offset >= shape.high) return shape.bytes;
    offset -= shape.start;
    switch (shape.kind) {
        case Shape::Kind::dense:
            return static_cast<std::uint64_t>(offset);
        case Shape::Kind::repeat: {
            auto const& child = *shape.child;
            if (shape.count == 1) return bytes_below(child, offset);
            auto const index = std::clamp<std::int64_t>((offset - child.low) / shape.stride, 0,
                                                        static_cast<std::int64_t>(shape.count) - 1);
            return static_cast<std::uint64_t>(index) * child.bytes +
                   bytes_below(child, offset - index * shape.stride);
        }
        case Shape::Kind::blocks: {
            auto const entry = entry_at_offset(shape, offset);
            auto const length = shape.data_before[entry + 1] - shape.data_before[entry];
            return shape.data_before[entry] +
                   std::min(static_cast<std::uint64_t>(offset - shape.offsets[entry]), length);
        }
        case Shape::Kind::list: {
            auto const entry = entry_at_offset(shape, offset);
            return shape.data_before[entry] +
                   bytes_below(*shape.children[entry], offset - shape.offsets[entry]);
        }
    }
    return 0;
}

}  // namespace

Tiling with_long_tiles(Tiling const& tiling) {
    constexpr std::uint64_t pieces_wanted = 1 << 16;
    constexpr std::int64_t extent_most = std::int64_t{1} << 40;
    auto const& shape = *tiling.shape;
    if (shape.empty() || tiling.dense() || !tiling.ascending()) return tiling;
    auto const tiles = std::min(static_cast<std::int64_t>(pieces_wanted / shape.pieces),
                                extent_most / tiling.extent);
    if (tiles <= 1) return tiling;
    return {make_repeat(static_cast<std::uint64_t>(tiles), tiling.extent, tiling.shape),
            tiling.origin, tiling.extent * tiles};
}

std::int64_t offset_of(Tiling const& tiling, std::uint64_t position) {
    assert(!tiling.shape->empty());
    auto const tile = position / tiling.shape->bytes;
    return tiling.origin + static_cast<std::int64_t>(tile) * tiling.extent +
           offset_in(*tiling.shape, position % tiling.shape->bytes);
}

bool within_reach(Tiling const& tiling, std::uint64_t first, std::uint64_t unit_bytes,
                  std::uint64_t bytes) {
    if (bytes == 0) return true;
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(first, unit_bytes, &end) ||
        __builtin_add_overflow(end, bytes, &end) || tiling.shape->high > offset_end)
        return false;
    std::int64_t tile = 0;
    return !__builtin_mul_overflow((end - 1) / tiling.shape->bytes, tiling.extent, &tile) &&
           !__builtin_add_overflow(tile, tiling.origin, &tile) && tile < offset_end &&
           offset_of(tiling, end - 1) < offset_end;
}

std::uint64_t position_of(Tiling const& tiling, std::int64_t offset) {
    assert(tiling.ascending());
    auto const& shape = *tiling.shape;
    auto const relative = offset - tiling.origin - shape.low;
    if (relative <= 0 || shape.empty()) return 0;
    auto const tile = relative / tiling.extent;
    return static_cast<std::uint64_t>(tile) * shape.bytes +
           bytes_below(shape, relative - tile * tiling.extent + shape.low);
}

std::optional<std::uint64_t> first_unit_from(Tiling const& tiling, std::int64_t offset,
                                             std::uint64_t unit_bytes) {
    auto const& shape = *tiling.shape;
    assert(shape.ascending && tiling.extent > 0 && shape.bytes % unit_bytes == 0);
    // In the first tile whose last unit begins there or later.
    std::int64_t missing = 0;
    if (__builtin_sub_overflow(offset - tiling.origin, offset_in(shape, shape.bytes - unit_bytes),
                               &missing) ||
        missing < 0)
        missing = 0;
    auto const tile =
        div_ceil(static_cast<std::uint64_t>(missing), static_cast<std::uint64_t>(tiling.extent));
    auto const in_tile = offset - tiling.origin - static_cast<std::int64_t>(tile) * tiling.extent;
    std::uint64_t unit = 0;
    if (__builtin_mul_overflow(tile, shape.bytes / unit_bytes, &unit) ||
        __builtin_add_overflow(unit, div_ceil(bytes_below(shape, in_tile), unit_bytes), &unit))
        return std::nullopt;
    return unit;
}

Extent touched(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return {};
    assert(!tiling.shape->empty());
    if (tiling.ascending())
        return {static_cast<std::uint64_t>(offset_of(tiling, positions.begin)),
                static_cast<std::uint64_t>(offset_of(tiling, positions.end - 1) + 1)};
    auto const& shape = *tiling.shape;
    auto const first = static_cast<std::int64_t>(positions.begin / shape.bytes) * tiling.extent;
    auto const last = static_cast<std::int64_t>((positions.end - 1) / shape.bytes) * tiling.extent;
    return {static_cast<std::uint64_t>(tiling.origin + std::min(first, last) + shape.low),
            static_cast<std::uint64_t>(tiling.origin + std::max(first, last) + shape.high)};
}

Positions within(Tiling const& tiling, Positions positions, Extent window) {
    return intersect(positions, {position_of(tiling, static_cast<std::int64_t>(window.begin)),
                                 position_of(tiling, static_cast<std::int64_t>(window.end))});
}

std::uint64_t piece_estimate(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return 0;
    assert(!tiling.shape->empty());
    if (tiling.dense()) return 1;
    auto const& shape = *tiling.shape;
    auto const bytes = positions.bytes();
    auto const piece_bytes = shape.bytes / shape.pieces;
    bool const cut = positions.begin % piece_bytes != 0 || bytes % piece_bytes != 0;
    return bytes / shape.bytes * shape.pieces + bytes % shape.bytes / piece_bytes + (cut ? 1 : 0);
}

PieceCount count_pieces(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return {};
    if (tiling.dense()) return {1};
    auto const* inmost = tiling.shape.get();
    while (inmost->kind == Shape::Kind::repeat) inmost = inmost->child.get();
    if (inmost->kind == Shape::Kind::dense)
        return {div_ceil(positions.end, inmost->bytes) - positions.begin / inmost->bytes};
    if (positions.begin % inmost->bytes == 0 && positions.end % inmost->bytes == 0)
        return {positions.bytes() / inmost->bytes * inmost->pieces};
    return {piece_estimate(tiling, positions), false};
}

std::uint64_t alignment_of(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return 0;
    auto const first = static_cast<std::uint64_t>(offset_of(tiling, positions.begin));
    auto const last = static_cast<std::uint64_t>(offset_of(tiling, positions.end - 1)) + 1;
    if (tiling.dense()) return first | last;
    return first | last | tiling.shape->alignment | static_cast<std::uint64_t>(tiling.origin) |
           static_cast<std::uint64_t>(tiling.extent);
}

}  // namespace unisono
