#include "access/cursor.hpp"

#include <algorithm>
#include <cassert>

namespace unisono {
namespace {

bool is_leaf(Shape const& shape) {
    return shape.kind == Shape::Kind::dense || shape.kind == Shape::Kind::blocks ||
           (shape.kind == Shape::Kind::repeat && shape.child->kind == Shape::Kind::dense &&
            shape.child->start == 0);
}

}  // namespace

struct Cursor::Filler {
    PieceRun* at;
    PieceRun* const begin;
    PieceRun* const end;
    std::uint64_t& left;

    [[nodiscard]] bool full() const { return at == end || left == 0; }

    void add(std::int64_t offset, std::uint64_t bytes) {
        bytes = std::min(bytes, left);
        left -= bytes;
        *at++ = {.offset = offset, .bytes = bytes};
    }
    // The first piece of a leaf may continue the last piece of the leaf before it.
    void add_merging(std::int64_t offset, std::uint64_t bytes) {
        if (at != begin && at[-1].count == 1 &&
            at[-1].offset + static_cast<std::int64_t>(at[-1].bytes) == offset) {
            bytes = std::min(bytes, left);
            left -= bytes;
            at[-1].bytes += bytes;
        } else {
            add(offset, bytes);
        }
    }
    // As many of `count` whole pieces as are left; at least one.
    std::uint64_t add_run(std::int64_t offset, std::uint64_t bytes, std::int64_t stride,
                          std::uint64_t count) {
        if (bytes * count > left) count = left / bytes;
        left -= bytes * count;
        *at++ = {offset, bytes, stride, count};
        return count;
    }
};

Cursor::Cursor(Tiling const& tiling, Positions positions)
    : tiling_{tiling}, left_{positions.bytes()} {
    if (left_ == 0) return;
    assert(!tiling.shape->empty());
    if (tiling.dense()) {
        // One run, whatever the number of tiles.
        frames_.push_back({tiling.shape.get(), offset_of(tiling, positions.begin), 0});
        return;
    }
    frames_.reserve(tiling.shape->depth);
    tile_ = positions.begin / tiling.shape->bytes;
    seek(positions.begin % tiling.shape->bytes);
}

void Cursor::descend(Shape const& shape, std::int64_t origin) {
    frames_.push_back({&shape, origin + shape.start, 0});
    auto const* leaf = &shape;
    while (!is_leaf(*leaf)) {
        auto const& frame = frames_.back();
        auto const* child =
            leaf->kind == Shape::Kind::repeat ? leaf->child.get() : leaf->children[0].get();
        auto const at =
            leaf->kind == Shape::Kind::repeat ? frame.origin : frame.origin + leaf->offsets[0];
        frames_.push_back({child, at + child->start, 0});
        leaf = child;
    }
}

void Cursor::seek(std::uint64_t position) {
    auto const* shape = tiling_.shape.get();
    auto origin = tiling_.origin + static_cast<std::int64_t>(tile_) * tiling_.extent;
    for (;;) {
        origin += shape->start;
        frames_.push_back({shape, origin, 0});
        auto& frame = frames_.back();
        if (shape->kind == Shape::Kind::dense) break;
        if (shape->kind == Shape::Kind::repeat) {
            frame.index = position / shape->child->bytes;
            position %= shape->child->bytes;
            if (is_leaf(*shape)) break;
            origin += static_cast<std::int64_t>(frame.index) * shape->stride;
            shape = shape->child.get();
        } else {
            auto const after = std::upper_bound(shape->data_before.begin(),
                                                shape->data_before.end() - 1, position);
            frame.index = static_cast<std::uint64_t>(after - shape->data_before.begin()) - 1;
            position -= shape->data_before[frame.index];
            if (is_leaf(*shape)) break;
            origin += shape->offsets[frame.index];
            shape = shape->children[frame.index].get();
        }
    }
    skip_ = position;
}

void Cursor::walk_leaf(Filler& out) {
    auto& frame = frames_.back();
    auto const& shape = *frame.shape;
    auto const skip = static_cast<std::int64_t>(skip_);
    if (shape.kind == Shape::Kind::dense) {
        out.add_merging(frame.origin + skip, shape.bytes - skip_);
        frame.index = 1;
        skip_ = 0;
        return;
    }
    auto index = frame.index;
    if (shape.kind == Shape::Kind::repeat) {
        auto const bytes = shape.child->bytes;
        auto const at = [&] {
            return frame.origin + static_cast<std::int64_t>(index) * shape.stride;
        };
        out.add_merging(at() + skip, bytes - skip_);
        ++index;
        if (index < shape.count && !out.full() && out.left >= bytes)
            index += out.add_run(at(), bytes, shape.stride, shape.count - index);
        if (index < shape.count && !out.full()) out.add(at(), bytes), ++index;
    } else {
        auto const length = [&](std::uint64_t i) {
            return shape.data_before[i + 1] - shape.data_before[i];
        };
        out.add_merging(frame.origin + shape.offsets[index] + skip, length(index) - skip_);
        auto const entries = shape.offsets.size();
        for (++index; index < entries && !out.full(); ++index)
            out.add(frame.origin + shape.offsets[index], length(index));
    }
    frame.index = index;
    skip_ = 0;
}

// Moves to the next leaf when the current one is used up.
void Cursor::advance() {
    auto const entries = [](Shape const& shape) -> std::uint64_t {
        if (shape.kind == Shape::Kind::dense) return 1;
        return shape.kind == Shape::Kind::repeat ? shape.count : shape.offsets.size();
    };
    auto& leaf = frames_.back();
    if (leaf.index < entries(*leaf.shape)) return;
    if (frames_.size() > 1) {
        // The common case, a loop around this leaf: move it on in place.
        auto& loop = frames_[frames_.size() - 2];
        if (loop.shape->kind == Shape::Kind::repeat && loop.index + 1 < loop.shape->count) {
            ++loop.index;
            leaf.origin += loop.shape->stride;
            leaf.index = 0;
            return;
        }
    }
    frames_.pop_back();
    while (!frames_.empty()) {
        auto& frame = frames_.back();
        auto const& shape = *frame.shape;
        if (++frame.index < entries(shape)) {
            if (shape.kind == Shape::Kind::repeat)
                descend(*shape.child,
                        frame.origin + static_cast<std::int64_t>(frame.index) * shape.stride);
            else
                descend(*shape.children[frame.index], frame.origin + shape.offsets[frame.index]);
            return;
        }
        frames_.pop_back();
    }
    ++tile_;
    descend(*tiling_.shape, tiling_.origin + static_cast<std::int64_t>(tile_) * tiling_.extent);
}

std::size_t Cursor::next(std::span<PieceRun> batch) {
    assert(!batch.empty());
    if (left_ == 0) return 0;
    if (tiling_.dense()) {
        batch[0] = {.offset = frames_[0].origin, .bytes = left_};
        left_ = 0;
        return 1;
    }
    Filler out{batch.data(), batch.data(), batch.data() + batch.size(), left_};
    while (!out.full()) {
        walk_leaf(out);
        if (left_ > 0) advance();
    }
    return static_cast<std::size_t>(out.at - out.begin);
}

}  // namespace unisono
