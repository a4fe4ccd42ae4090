#pragma once

#include <cstdint>
#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// One collective call as all its ranks make it, without any rank running: for pictures, tests and
/// calculations of what a plan costs.
struct Scene {
    Topology topology;
    Layout layout;
    std::vector<Realm> requests;  ///< by rank: what it asks for
    Options options{};
    Direction direction = Direction::write;
    bool local_storage = false;  ///< as Facts have it
    Links links = Links::unknown;
    bool page_cached = false;
};

/// What the ranks of a scene would agree on, everything gathered. The scene must outlive it.
struct SceneFacts {
    explicit SceneFacts(Scene const& scene);
    SceneFacts(SceneFacts const&) = delete;
    SceneFacts& operator=(SceneFacts const&) = delete;
    ~SceneFacts() = default;

    std::vector<RankFacts> ranks;
    std::vector<std::uint64_t> server_bytes;
    std::vector<CellHolder> cells;
    Facts facts;  ///< refers to the three above
};

/// `servers` servers in turn, `unit` bytes each.
Layout round_robin_layout(std::uint64_t unit, std::uint32_t servers);

/// Every rank asks for `count` blocks: the first at first_block[rank], then every `every`-th.
std::vector<Realm> block_requests(std::uint64_t block_bytes,
                                  std::vector<std::uint64_t> const& first_block,
                                  std::uint64_t count, std::uint64_t every);

}  // namespace unisono
