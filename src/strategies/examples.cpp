#include "strategies/all.hpp"
#include "strategies/show.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t block_bytes = 64 << 10;

struct Example {
    std::string_view strategy;
    std::string title;
    Scene scene;
};

// Two nodes with two ranks each take turns in a file on three servers.
Scene interleaved() {
    return {.topology = make_topology({0, 0, 1, 1}),
            .layout = round_robin_layout(block_bytes, 3),
            .requests = block_requests(block_bytes, {0, 1, 2, 3}, 3, 4)};
}

// Three ranks ask for most of one server each, the fourth for a block of all.
Scene uneven() {
    auto scene = interleaved();
    scene.requests = block_requests(block_bytes, {1, 2, 0}, 3, 3);
    scene.requests.push_back(block_requests(block_bytes, {9}, 3, 1).front());
    return scene;
}

Scene with_cb_nodes(Scene scene, std::uint32_t aggregators) {
    scene.options.cb_nodes = aggregators;
    return scene;
}

Scene with_small_buffers(Scene scene) {
    scene.options.cb_buffer_size = block_bytes;
    scene.options.cb_nodes = 2;
    return scene;
}

// Six ranks, each with two blocks behind those of the rank before.
Scene ordered() {
    return {.topology = make_topology({0, 0, 0, 1, 1, 1}),
            .layout = round_robin_layout(block_bytes, 3),
            .requests = block_requests(block_bytes, {0, 2, 4, 6, 8, 10}, 2, 1)};
}

// An array of six rows and two columns of blocks, in quarters.
Scene quarters() {
    return {.topology = make_topology({0, 0, 1, 1}),
            .layout = round_robin_layout(block_bytes, 3),
            .requests = block_requests(block_bytes, {0, 1, 6, 7}, 3, 2)};
}

std::vector<Example> examples() {
    return {
        {"independent", "", interleaved()},
        {"two_phase", "", interleaved()},
        {"disk_first", "", interleaved()},
        {"resonant", "Ranks' blocks interleave: each server's agent is who asks it for most.",
         uneven()},
        {"resonant", "Ranks' blocks do not: each for itself, in turns.", ordered()},
        {"lacio", "As many aggregators as servers.", interleaved()},
        {"lacio", "cb_nodes=4: one server gets a second one.", with_cb_nodes(interleaved(), 4)},
        {"lacio", "cb_nodes=2: one aggregator has two servers.", with_cb_nodes(interleaved(), 2)},
        {"core_first", "", interleaved()},
        {"view_based", "", with_small_buffers(interleaved())},
        {"transpose", "", quarters()},
    };
}

}  // namespace

std::string draw_examples(std::string_view strategy) {
    std::string text;
    for (auto const& [name, title, scene] : examples()) {
        if (name != strategy) continue;
        SceneFacts const known{scene};
        if (!text.empty()) text += "\n";
        if (!title.empty()) text += title + "\n";
        text += draw(scene, known.facts, find_strategy(name)->plan(known.facts, scene.options),
                     block_bytes);
    }
    return text;
}

}  // namespace unisono
