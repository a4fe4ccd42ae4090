#include "access/edges.hpp"

#include "access/copy.hpp"

namespace unisono {
namespace {

// The steps of common 64-bit mixers, one after the other; the second half mixes the first one on.
Hash128 hash_of(std::uint64_t offset) {
    auto const mixed = [](std::uint64_t x, std::uint64_t odd) {
        x *= odd;
        return x ^ x >> 32;
    };
    auto const first = mixed(mixed(offset + 1, 0x9e3779b97f4a7c15), 0xd6e8feb86659fd93);
    return {first, mixed(mixed(first, 0xbf58476d1ce4e5b9), 0x94d049bb133111eb)};
}

}  // namespace

void EdgeSum::add(std::uint64_t begin, std::uint64_t end) {
    auto const gone = hash_of(begin);
    auto const left = hash_of(end);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += left[i] - gone[i];
}

EdgeSum edges_of(Tiling const& tiling, Positions positions) {
    EdgeSum edges;
    walk(tiling, positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        edges.add(begin, begin + bytes);
    });
    return edges;
}

}  // namespace unisono
