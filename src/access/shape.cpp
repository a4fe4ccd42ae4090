#include "unisono/shape.hpp"

#include <algorithm>
#include <cassert>

namespace unisono {
namespace {

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::shared_ptr<Shape> copy_of(Shape const& shape) { return std::make_shared<Shape>(shape); }

ShapePtr empty_shape() {
    static ShapePtr const empty = std::make_shared<Shape const>();
    return empty;
}

bool is_dense_at_zero(Shape const& shape) {
    return shape.kind == Shape::Kind::dense && shape.start == 0;
}

// One child in several places: a loop when the places are regular, else nothing.
ShapePtr as_regular_loop(std::span<std::int64_t const> offsets, ShapePtr const& child) {
    auto const stride = offsets[1] - offsets[0];
    for (std::size_t i = 2; i < offsets.size(); ++i)
        if (offsets[i] - offsets[i - 1] != stride) return nullptr;
    return make_shifted(make_repeat(offsets.size(), stride, child), offsets[0]);
}

// Fills in what follows from offsets and the bounds of each entry.
template <class Bounds>
void summarise_entries(Shape& shape, Bounds&& bounds_of) {
    shape.low = INT64_MAX;
    shape.high = INT64_MIN;
    std::int64_t previous_high = INT64_MIN;
    for (std::size_t i = 0; i < shape.offsets.size(); ++i) {
        auto const [low, high] = bounds_of(i);
        if (low < previous_high) shape.ascending = false;
        previous_high = high;
        shape.low = std::min(shape.low, low);
        shape.high = std::max(shape.high, high);
    }
}

ShapePtr make_general_list(std::vector<std::int64_t> offsets, std::vector<ShapePtr> children) {
    auto shape = std::make_shared<Shape>();
    shape->kind = Shape::Kind::list;
    shape->data_before.reserve(children.size() + 1);
    for (std::size_t i = 0; i < children.size(); ++i) {
        auto const& child = *children[i];
        shape->data_before.push_back(shape->bytes);
        shape->bytes += child.bytes;
        shape->pieces += child.pieces;
        shape->alignment |= child.alignment | bits(offsets[i]);
        shape->ascending = shape->ascending && child.ascending;
        shape->depth = std::max(shape->depth, child.depth + 1);
    }
    shape->data_before.push_back(shape->bytes);
    shape->offsets = std::move(offsets);
    shape->children = std::move(children);
    summarise_entries(*shape, [&](std::size_t i) {
        return std::pair{shape->offsets[i] + shape->children[i]->low,
                         shape->offsets[i] + shape->children[i]->high};
    });
    return shape;
}

}  // namespace

ShapePtr make_dense(std::uint64_t bytes) {
    if (bytes == 0) return empty_shape();
    auto shape = std::make_shared<Shape>();
    shape->bytes = bytes;
    shape->pieces = 1;
    shape->alignment = bytes;
    shape->high = static_cast<std::int64_t>(bytes);
    return shape;
}

ShapePtr make_shifted(ShapePtr const& shape, std::int64_t shift) {
    if (shift == 0 || shape->empty()) return shape;
    // A long index list is not copied: a loop of one holds it.
    auto const holds_list = !shape->offsets.empty();
    auto moved = holds_list ? std::make_shared<Shape>() : copy_of(*shape);
    if (holds_list) {
        moved->kind = Shape::Kind::repeat;
        moved->ascending = shape->ascending;
        moved->depth = shape->depth + 1;
        moved->bytes = shape->bytes;
        moved->pieces = shape->pieces;
        moved->count = 1;
        moved->child = shape;
    }
    moved->start += shift;
    moved->low = shape->low + shift;
    moved->high = shape->high + shift;
    moved->alignment = shape->alignment | bits(shift);
    return moved;
}

ShapePtr make_repeat(std::uint64_t count, std::int64_t stride, ShapePtr const& child) {
    assert(child != nullptr);
    if (count == 0 || child->empty()) return empty_shape();
    if (count == 1) return child;
    if (child->start != 0 && child->kind != Shape::Kind::repeat) {
        // Pull the shift out, so that loops over dense children are leaves.
        auto bare = copy_of(*child);
        bare->start = 0;
        bare->low -= child->start;
        bare->high -= child->start;
        return make_shifted(make_repeat(count, stride, bare), child->start);
    }
    if (is_dense_at_zero(*child) && stride == static_cast<std::int64_t>(child->bytes))
        return make_dense(count * child->bytes);
    if (child->kind == Shape::Kind::repeat && child->count > 1 &&
        child->stride * static_cast<std::int64_t>(child->count) == stride) {
        auto merged = copy_of(*child);
        auto const last = static_cast<std::int64_t>(count - 1) * stride;
        merged->count = count * child->count;
        merged->bytes = count * child->bytes;
        merged->pieces = count * child->pieces;
        merged->low = std::min(child->low, child->low + last);
        merged->high = std::max(child->high, child->high + last);
        merged->ascending = child->ascending && stride > 0;
        return merged;
    }
    auto shape = std::make_shared<Shape>();
    auto const last = static_cast<std::int64_t>(count - 1) * stride;
    shape->kind = Shape::Kind::repeat;
    shape->count = count;
    shape->stride = stride;
    shape->child = child;
    shape->bytes = count * child->bytes;
    shape->pieces = count * child->pieces;
    shape->alignment = child->alignment | bits(stride);
    shape->depth = child->depth + 1;
    shape->low = std::min(child->low, child->low + last);
    shape->high = std::max(child->high, child->high + last);
    shape->ascending = child->ascending && stride >= child->high - child->low;
    return shape;
}

ShapePtr make_blocks(std::span<std::int64_t const> offsets,
                     std::span<std::uint64_t const> lengths) {
    assert(offsets.size() == lengths.size());
    auto shape = std::make_shared<Shape>();
    shape->kind = Shape::Kind::blocks;
    bool equal_lengths = true;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (lengths[i] == 0) continue;
        auto const touches =
            !shape->offsets.empty() &&
            offsets[i] == shape->offsets.back() +
                              static_cast<std::int64_t>(shape->bytes - shape->data_before.back());
        if (!touches) {
            shape->offsets.push_back(offsets[i]);
            shape->data_before.push_back(shape->bytes);
        }
        shape->bytes += lengths[i];
    }
    if (shape->bytes == 0) return empty_shape();
    shape->data_before.push_back(shape->bytes);
    shape->pieces = shape->offsets.size();

    auto const length_of = [&](std::size_t i) {
        return shape->data_before[i + 1] - shape->data_before[i];
    };
    for (std::size_t i = 0; i < shape->offsets.size(); ++i) {
        shape->alignment |= bits(shape->offsets[i]) | length_of(i);
        equal_lengths = equal_lengths && length_of(i) == length_of(0);
    }
    if (shape->offsets.size() == 1)
        return make_shifted(make_dense(shape->bytes), shape->offsets[0]);
    if (equal_lengths)
        if (auto loop = as_regular_loop(shape->offsets, make_dense(length_of(0)))) return loop;
    summarise_entries(*shape, [&](std::size_t i) {
        return std::pair{shape->offsets[i],
                         shape->offsets[i] + static_cast<std::int64_t>(length_of(i))};
    });
    return shape;
}

ShapePtr make_list(std::span<std::int64_t const> offsets, std::span<ShapePtr const> children) {
    assert(offsets.size() == children.size());
    std::vector<std::int64_t> kept_offsets;
    std::vector<ShapePtr> kept;
    bool all_dense = true;
    bool all_same = true;
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (children[i]->empty()) continue;
        kept_offsets.push_back(offsets[i]);
        kept.push_back(children[i]);
        all_dense = all_dense && children[i]->kind == Shape::Kind::dense;
        all_same = all_same && children[i] == kept.front();
    }
    if (kept.empty()) return empty_shape();
    if (kept.size() == 1) return make_shifted(kept[0], kept_offsets[0]);
    if (all_dense) {
        std::vector<std::uint64_t> lengths;
        lengths.reserve(kept.size());
        for (std::size_t i = 0; i < kept.size(); ++i) {
            kept_offsets[i] += kept[i]->start;
            lengths.push_back(kept[i]->bytes);
        }
        return make_blocks(kept_offsets, lengths);
    }
    if (all_same)
        if (auto loop = as_regular_loop(kept_offsets, kept[0])) return loop;
    return make_general_list(std::move(kept_offsets), std::move(kept));
}

std::string show(Shape const& shape) {
    auto at = shape.start == 0 ? std::string{} : "@" + std::to_string(shape.start) + " ";
    switch (shape.kind) {
        case Shape::Kind::dense:
            return at + "dense " + std::to_string(shape.bytes);
        case Shape::Kind::repeat:
            return at + std::to_string(shape.count) + " x " + std::to_string(shape.stride) + " [" +
                   show(*shape.child) + "]";
        case Shape::Kind::blocks: {
            std::string text = at + "blocks";
            for (std::size_t i = 0; i < shape.offsets.size(); ++i)
                text += " " + std::to_string(shape.offsets[i]) + "+" +
                        std::to_string(shape.data_before[i + 1] - shape.data_before[i]);
            return text;
        }
        case Shape::Kind::list: {
            std::string text = at + "list";
            for (std::size_t i = 0; i < shape.offsets.size(); ++i)
                text +=
                    " " + std::to_string(shape.offsets[i]) + ":[" + show(*shape.children[i]) + "]";
            return text;
        }
    }
    return at;
}

}  // namespace unisono
