#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "unisono/view.hpp"

namespace unisono {

/// One contiguous piece of a tiling.
struct Piece {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Walks the pieces of a tiling's positions lazily, in data order, in batches.
/// Construction seeks: O(depth * log list). Walking: O(1) a piece. Memory: O(depth).
class Cursor {
public:
    Cursor(Tiling const& tiling, Positions positions);

    /// Fills `batch` from the front; returns how many pieces; 0 at the end. Pieces that touch
    /// across loop boundaries are merged where that is cheap.
    std::size_t next(std::span<Piece> batch);

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
