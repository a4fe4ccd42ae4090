#pragma once

#include <string>

#include "strategies/all.hpp"
#include "strategies/scene.hpp"
#include "strategies/show.hpp"

namespace unisono {

// Test equipment: the examples of the papers' figures, and plans for a scene.

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t block = 64 * KiB;  // and stripe unit

inline Plan plan_for(Strategy const& strategy, Scene const& scene) {
    SceneFacts const known{scene};
    return strategy.plan(known.facts, scene.options);
}

inline std::string unfit_for(Strategy const& strategy, Scene const& scene) {
    SceneFacts const known{scene};
    return std::string{strategy.unfit(known.facts)};
}

// Rank i of N asks for segments k * N + i, k = 0 to 3: Resonant I/O, figures 1 and 3.
inline Scene resonant_figure_1() {
    return {.topology = make_topology({0, 1, 2, 3}),
            .layout = round_robin_layout(block, 4),
            .requests = block_requests(block, {0, 1, 2, 3}, 4, 4)};
}

// 12 blocks, all four ranks aggregate, four servers: LACIO, figures 3 to 5.
inline Scene lacio_figure_3() {
    return {.topology = make_topology({0, 1, 2, 3}),
            .layout = round_robin_layout(block, 4),
            .requests = block_requests(block, {0, 1, 2, 3}, 3, 4)};
}

// `ranks` ranks, each on its own node, with one contiguous block of each `blocks` one after
// another.
inline Scene interleaved(std::uint32_t ranks, std::uint32_t servers, std::uint64_t blocks_each) {
    std::vector<std::uint32_t> labels;
    std::vector<std::uint64_t> first;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        labels.push_back(rank);
        first.push_back(rank);
    }
    return {.topology = make_topology(labels),
            .layout = round_robin_layout(block, servers),
            .requests = block_requests(block, first, blocks_each, ranks)};
}

// Rank r asks for `blocks_each` blocks from r * blocks_each on.
inline Scene ordered(std::uint32_t ranks, std::uint32_t servers, std::uint64_t blocks_each) {
    auto scene = interleaved(ranks, servers, 1);
    std::vector<std::uint64_t> first;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) first.push_back(rank * blocks_each);
    scene.requests = block_requests(block, first, blocks_each, 1);
    return scene;
}

// An array of extent[d] cells per dimension, fastest first, in parts[d] parts per dimension; a rank
// for each.
inline Scene lattice(std::uint64_t cell_bytes, std::vector<std::uint64_t> const& extent,
                     std::vector<std::uint64_t> const& parts) {
    Scene scene{.layout = round_robin_layout(cell_bytes, 3)};
    std::uint64_t ranks = 1;
    for (auto const part : parts) ranks *= part;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        auto shape = make_dense(cell_bytes);
        std::uint64_t stride = cell_bytes;
        std::uint64_t first = 0;
        auto rest = rank;
        for (std::size_t d = 0; d < extent.size(); ++d) {
            auto const count = extent[d] / parts[d];
            first += rest % parts[d] * count * stride;
            rest /= parts[d];
            shape = make_repeat(count, static_cast<std::int64_t>(stride), shape);
            stride *= extent[d];
        }
        scene.requests.push_back(
            {{shape, static_cast<std::int64_t>(first), static_cast<std::int64_t>(stride)},
             {0, shape->bytes}});
    }
    scene.topology = make_topology(std::vector<std::uint32_t>(ranks, 0));
    return scene;
}

}  // namespace unisono
