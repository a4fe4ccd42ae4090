#include "workloads.hpp"

#include <map>

namespace unisono {
namespace {

struct Block {
    std::array<std::uint64_t, 3> first;  // slowest dimension first
    std::array<std::uint64_t, 3> count;
};

// Part `index` of `side` cells in `parts` parts; the first ones have one more if need be.
std::pair<std::uint64_t, std::uint64_t> part_of(std::uint64_t side, std::uint64_t parts,
                                                std::uint64_t index) {
    auto const least = side / parts;
    auto const larger = side % parts;
    return {index * least + std::min(index, larger), least + (index < larger ? 1 : 0)};
}

// The blocks of one rank, slab after slab.
Realm request_of(std::vector<Block> const& blocks, std::uint64_t side, std::uint64_t cell_bytes) {
    std::vector<std::int64_t> offsets;
    std::vector<ShapePtr> shapes;
    auto const row_bytes = static_cast<std::int64_t>(side * cell_bytes);
    auto const plane_bytes = static_cast<std::int64_t>(side) * row_bytes;
    for (auto const& [first, count] : blocks) {
        auto const row = make_dense(count[2] * cell_bytes);
        shapes.push_back(make_repeat(count[0], plane_bytes, make_repeat(count[1], row_bytes, row)));
        offsets.push_back(static_cast<std::int64_t>(
            ((first[0] * side + first[1]) * side + first[2]) * cell_bytes));
    }
    auto const shape = make_list(offsets, shapes);
    return {{shape, 0, static_cast<std::int64_t>(side) * plane_bytes}, {0, shape->bytes}};
}

}  // namespace

std::array<std::uint64_t, 3> process_grid(std::uint32_t ranks) {
    static std::map<std::uint32_t, std::array<std::uint64_t, 3>> const grids{
        {4, {2, 2, 1}},  {9, {3, 3, 1}},     {16, {4, 2, 2}},
        {64, {4, 4, 4}}, {1024, {16, 8, 8}}, {16384, {32, 32, 16}}};
    return grids.at(ranks);
}

Scene coll_perf(std::uint32_t ranks, std::uint64_t side) {
    auto const parts = process_grid(ranks);
    Scene scene;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        std::array<std::uint64_t, 3> const place{rank / (parts[2] * parts[1]),
                                                 rank / parts[2] % parts[1], rank % parts[2]};
        Block block{};
        for (std::size_t d = 0; d < 3; ++d)
            std::tie(block.first[d], block.count[d]) = part_of(side, parts[d], place[d]);
        scene.requests.push_back(request_of({block}, side, sizeof(std::int32_t)));
    }
    return scene;
}

Scene btio(std::uint32_t ranks, std::uint64_t side) {
    std::uint64_t slabs = 1;
    while (slabs * slabs < ranks) ++slabs;
    Scene scene;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        std::vector<Block> blocks;
        for (std::uint64_t slab = 0; slab < slabs; ++slab) {
            std::array<std::uint64_t, 3> const place{slab, (rank / slabs + slabs - slab) % slabs,
                                                     (rank + slab) % slabs};
            Block block{};
            for (std::size_t d = 0; d < 3; ++d)
                std::tie(block.first[d], block.count[d]) = part_of(side, slabs, place[d]);
            blocks.push_back(block);
        }
        scene.requests.push_back(request_of(blocks, side, 5 * sizeof(double)));
    }
    return scene;
}

}  // namespace unisono
