#include "unisono/loops.hpp"

namespace unisono {
namespace {

void add_loop(Loops& loops, std::uint64_t count, std::int64_t stride_bytes) {
    auto const stride = static_cast<std::uint64_t>(stride_bytes);
    if (loops.empty() || count == 1) return;
    if (loops.loops.empty()) {
        if (stride == loops.piece_bytes)
            loops.piece_bytes *= count;
        else
            loops.loops.push_back({count, stride});
        return;
    }
    auto& outermost = loops.loops.back();
    if (stride == outermost.count * outermost.stride)
        outermost.count *= count;
    else
        loops.loops.push_back({count, stride});
}

Loops loops_of(Shape const& shape, Positions positions);

// Of copies of `shape`, `stride` apart.
Loops loops_of_copies(Shape const& shape, std::int64_t stride, Positions positions) {
    auto const bytes = shape.bytes;
    auto const first = positions.begin / bytes;
    if (first == (positions.end - 1) / bytes)
        return loops_of(shape, {positions.begin % bytes, positions.end - first * bytes});
    if (positions.begin % bytes != 0 || positions.end % bytes != 0) return {};
    auto loops = loops_of(shape, {0, bytes});
    add_loop(loops, positions.bytes() / bytes, stride);
    return loops;
}

Loops loops_of(Shape const& shape, Positions positions) {
    if (shape.kind == Shape::Kind::dense) return {.piece_bytes = positions.bytes()};
    if (shape.kind == Shape::Kind::repeat)
        return loops_of_copies(*shape.child, shape.stride, positions);
    return {};
}

}  // namespace

Loops loops_of(Tiling const& tiling, Positions positions) {
    if (positions.empty() || !tiling.ascending()) return {};
    return loops_of_copies(*tiling.shape, tiling.extent, positions);
}

}  // namespace unisono
