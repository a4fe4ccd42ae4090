#include "layouts/clip.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace unisono {
namespace {

ShapePtr clip_dense(Shape const& shape, std::int64_t low, std::int64_t high) {
    low = std::max(low, shape.low);
    high = std::min(high, shape.high);
    return make_shifted(make_dense(static_cast<std::uint64_t>(high - low)), low);
}

// First and last turn of the loop that reach into the window are clipped, those between are whole.
ShapePtr clip_loop(Shape const& shape, std::int64_t low, std::int64_t high) {
    auto const& child = shape.child;
    auto const turn_of = [&](std::int64_t offset) {
        return std::clamp<std::int64_t>((offset - shape.start - child->low) / shape.stride, 0,
                                        static_cast<std::int64_t>(shape.count) - 1);
    };
    auto const first = shape.count == 1 ? 0 : turn_of(std::max(low, shape.low));
    auto const last = shape.count == 1 ? 0 : turn_of(std::min(high, shape.high) - 1);
    auto const turn = [&](std::int64_t index) {
        auto const origin = shape.start + index * shape.stride;
        return make_shifted(clip(child, low - origin, high - origin), origin);
    };
    if (first == last) return turn(first);
    auto const between =
        make_shifted(make_repeat(static_cast<std::uint64_t>(last - first - 1), shape.stride, child),
                     shape.start + (first + 1) * shape.stride);
    return make_list(std::array<std::int64_t, 3>{}, std::array{turn(first), between, turn(last)});
}

ShapePtr clip_entries(Shape const& shape, std::int64_t low, std::int64_t high) {
    std::vector<ShapePtr> parts;
    for (std::size_t i = 0; i < shape.offsets.size(); ++i) {
        auto const at = shape.start + shape.offsets[i];
        auto const child = shape.kind == Shape::Kind::list
                               ? shape.children[i]
                               : make_dense(shape.data_before[i + 1] - shape.data_before[i]);
        parts.push_back(make_shifted(clip(child, low - at, high - at), at));
    }
    return make_list(std::vector<std::int64_t>(parts.size(), 0), parts);
}

}  // namespace

ShapePtr clip(ShapePtr const& shape, std::int64_t low, std::int64_t high) {
    assert(shape->ascending);
    if (low <= shape->low && high >= shape->high) return shape;
    if (high <= shape->low || low >= shape->high || high <= low) return make_dense(0);
    switch (shape->kind) {
        case Shape::Kind::dense:
            return clip_dense(*shape, low, high);
        case Shape::Kind::repeat:
            return clip_loop(*shape, low, high);
        case Shape::Kind::blocks:
        case Shape::Kind::list:
            return clip_entries(*shape, low, high);
    }
    return shape;
}

}  // namespace unisono
