#include "strategies/scene.hpp"

#include <algorithm>
#include <numeric>

#include "access/copy.hpp"
#include "strategies/node_realms.hpp"

namespace unisono {
namespace {

bool in_rank_order(std::vector<RankFacts> const& ranks) {
    std::uint64_t end = 0;
    for (auto const& rank : ranks) {
        if (rank.bytes == 0) continue;
        if (rank.touched.begin < end) return false;
        end = rank.touched.end;
    }
    return true;
}

// The loops that all ranks have in common, if they have.
Loops common_loops(std::vector<Realm> const& requests) {
    auto const first = loops_of(requests.front().tiling, requests.front().positions);
    auto const same = std::ranges::all_of(requests, [&](Realm const& request) {
        return loops_of(request.tiling, request.positions) == first;
    });
    return same ? first : Loops{};
}

// Adds one rank's bytes on each server, unit by unit.
void count_server_bytes(Realm const& request, Layout const& layout, std::uint64_t* by_server) {
    walk(request.tiling, request.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto at = static_cast<std::uint64_t>(offset);
        for (auto const end = at + bytes; at < end;) {
            auto const unit_end = std::min(end, layout.unit_end(at));
            by_server[layout.server_of(at)] += unit_end - at;
            at = unit_end;
        }
    });
}

// The node with the most bytes of each cell, the first of those with as many.
std::vector<CellHolder> holders(Scene const& scene, Facts const& facts) {
    std::vector<CellHolder> cells;
    for (std::uint32_t node = 0; node < scene.topology.nodes(); ++node) {
        std::vector<std::uint64_t> of_node;
        for (auto const rank : scene.topology.ranks_of[node]) {
            auto const bytes = bytes_by_cell(facts.cell_bytes, facts.touched, scene.requests[rank]);
            of_node.resize(bytes.size());
            for (std::size_t i = 0; i < bytes.size(); ++i) of_node[i] += bytes[i];
        }
        cells.resize(of_node.size());
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (auto const bytes = std::min(of_node[i], facts.cell_bytes); bytes > cells[i].bytes)
                cells[i] = {node, bytes};
    }
    return cells;
}

}  // namespace

SceneFacts::SceneFacts(Scene const& scene) : ranks(scene.requests.size()) {
    facts.direction = scene.direction;
    facts.topology = &scene.topology;
    facts.layout = &scene.layout;
    facts.cacheable = true;
    facts.local_storage = scene.local_storage;
    facts.page_cached = scene.page_cached;
    facts.links = scene.links;
    facts.touched = {~std::uint64_t{0}, 0};
    server_bytes.resize(ranks.size() * scene.layout.servers());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        auto const& request = scene.requests[rank];
        if (request.empty()) continue;
        ranks[rank] = {touched(request), request.bytes()};
        facts.touched = {std::min(facts.touched.begin, ranks[rank].touched.begin),
                         std::max(facts.touched.end, ranks[rank].touched.end)};
        facts.bytes += request.bytes();
        facts.pieces += piece_estimate(request.tiling, request.positions);
        facts.ascending = facts.ascending && request.tiling.ascending();
        if (scene.layout.known())
            count_server_bytes(request, scene.layout,
                               server_bytes.data() + rank * scene.layout.servers());
    }
    if (facts.bytes == 0) facts.touched = {};
    facts.rank_ordered = in_rank_order(ranks);
    facts.loops = common_loops(scene.requests);
    facts.ranks = ranks;
    facts.server_bytes = server_bytes;
    facts.cell_bytes = cell_bytes_of_nodes(facts, scene.options);
    if (facts.cell_bytes != 0) cells = holders(scene, facts);
    facts.cells = cells;
}

Layout round_robin_layout(std::uint64_t unit, std::uint32_t servers) {
    std::vector<std::uint32_t> numbers(servers);
    std::iota(numbers.begin(), numbers.end(), 0);
    return Layout::of("example", {Striping::round_robin(unit, std::move(numbers))});
}

std::vector<Realm> block_requests(std::uint64_t block_bytes,
                                  std::vector<std::uint64_t> const& first_block,
                                  std::uint64_t count, std::uint64_t every) {
    std::vector<Realm> requests;
    requests.reserve(first_block.size());
    for (auto const first : first_block)
        requests.push_back(
            {{make_dense(block_bytes), static_cast<std::int64_t>(first * block_bytes),
              static_cast<std::int64_t>(every * block_bytes)},
             {0, count * block_bytes}});
    return requests;
}

}  // namespace unisono
