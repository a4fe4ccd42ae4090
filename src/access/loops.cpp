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

namespace {

// FNV-1a over whole numbers, mixed.
class Hash {
public:
    void add(std::uint64_t value) {
        hash_ = (hash_ ^ value) * 0x100000001b3;
        hash_ ^= hash_ >> 29;
    }
    [[nodiscard]] std::uint64_t value() const { return hash_ == 0 ? 1 : hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

std::uint64_t fingerprint(Loops const& loops) {
    if (loops.empty()) return 0;
    Hash hash;
    hash.add(loops.piece_bytes);
    for (auto const& [count, stride] : loops.loops) hash.add(count), hash.add(stride);
    return hash.value();
}

std::uint64_t fingerprint(Tiling const& tiling, Positions positions) {
    if (positions.empty()) return 0;
    auto const& shape = *tiling.shape;
    Hash hash;
    for (auto const value : {positions.bytes(), shape.bytes, shape.pieces, shape.alignment,
                             static_cast<std::uint64_t>(shape.high - shape.low),
                             static_cast<std::uint64_t>(tiling.extent)})
        hash.add(value);
    return hash.value();
}

}  // namespace unisono
