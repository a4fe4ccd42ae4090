#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "unisono/view.hpp"

namespace unisono {

/// Equal contiguous pieces at equal distances: `bytes` at offset + i * stride, i < count.
struct PieceRun {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
    std::int64_t stride = 0;  ///< of no meaning for a single piece
    std::uint64_t count = 1;
};

/// Walks the pieces of a tiling's positions lazily, in data order, in batches of runs.
/// Construction seeks: O(depth * log list). Walking: O(1) an innermost loop or list entry.
/// Memory: O(depth).
class Cursor {
public:
    Cursor(Tiling const& tiling, Positions positions);

    /// Fills `batch` from the front; returns how many runs; 0 at the end. Pieces that touch
    /// across loop boundaries are merged where that is cheap.
    std::size_t next(std::span<PieceRun> batch);

private:
    struct Frame {
        Shape const* shape;
        std::int64_t origin;  // where the shape begins, its start included
        std::uint64_t index;  // entry under way
    };

    struct Filler;

    void seek(std::uint64_t position_in_tile);
    void descend(Shape const& shape, std::int64_t origin);
    void walk_leaf(Filler& out);
    void advance();

    Tiling tiling_;
    std::uint64_t left_;  // data bytes to come
    std::uint64_t tile_ = 0;
    std::uint64_t skip_ = 0;     // bytes of the current piece that lie before the interval
    std::vector<Frame> frames_;  // root to leaf
};

}  // namespace unisono
