#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace unisono {

class Shape;
using ShapePtr = std::shared_ptr<Shape const>;

/// A datatype as nested loops: which bytes, relative to an origin, hold data, and in which order.
/// Immutable. A regular type of 10^8 pieces costs its description; an index list stays a list.
///
/// Build one with the functions below; they normalise as they build (contiguous loops become
/// dense, loops of one vanish, regular index lists become loops), so that equal byte maps built
/// in common ways walk equally fast. Offsets may be negative (memory types).
class Shape {
public:
    enum class Kind : std::uint8_t {
        dense,   ///< `bytes` bytes at `start`
        repeat,  ///< `child` at start + i * stride, i < count
        blocks,  ///< lengths from data_before, at start + offsets[i]
        list,    ///< children[i] at start + offsets[i]
    };

    Kind kind = Kind::dense;
    bool ascending = true;     ///< pieces are disjoint and in ascending order
    std::uint32_t depth = 1;   ///< nesting depth of the loops
    std::int64_t start = 0;    ///< shift of everything below
    std::uint64_t bytes = 0;   ///< data bytes in all
    std::uint64_t pieces = 0;  ///< contiguous pieces in all, at most
    std::uint64_t alignment =
        0;                  ///< OR of all offsets and lengths: its lowest bit divides them all
    std::int64_t low = 0;   ///< first data byte, `start` included
    std::int64_t high = 0;  ///< one past the last data byte, `start` included

    std::uint64_t count = 0;            // repeat
    std::int64_t stride = 0;            // repeat
    ShapePtr child;                     // repeat
    std::vector<std::int64_t> offsets;  // blocks, list
    std::vector<std::uint64_t>
        data_before;                 // blocks, list: data bytes before entry i; n + 1 entries
    std::vector<ShapePtr> children;  // list

    [[nodiscard]] bool empty() const { return bytes == 0; }
    /// Laid end to end, one every `extent` bytes, it is one contiguous run.
    [[nodiscard]] bool dense_at(std::int64_t extent) const {
        return kind == Kind::dense && extent == static_cast<std::int64_t>(bytes);
    }
};

ShapePtr make_dense(std::uint64_t bytes);

/// `child` `count` times, `stride` bytes apart (any sign).
ShapePtr make_repeat(std::uint64_t count, std::int64_t stride, ShapePtr const& child);

/// `shape` moved by `shift` bytes. Cost: O(1).
ShapePtr make_shifted(ShapePtr const& shape, std::int64_t shift);

/// children[i] at offsets[i], in this order. Cost: O(n). Empty children are dropped; neighbours
/// that touch are merged.
ShapePtr make_list(std::span<std::int64_t const> offsets, std::span<ShapePtr const> children);

/// Blocks of lengths[i] bytes at offsets[i], in this order. Cost: O(n).
ShapePtr make_blocks(std::span<std::int64_t const> offsets, std::span<std::uint64_t const> lengths);

/// For tests and reports: e.g. "4 x 16 [dense 8]".
std::string show(Shape const& shape);

}  // namespace unisono
