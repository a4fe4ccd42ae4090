#include <algorithm>
#include <numeric>
#include <optional>

#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

// PVFS2's list I/O takes so many segments in a request (section 3.3).
constexpr std::uint64_t list_extents_max = 64;
// Section 3.4: anything from 0.1 to 1 ms does.
constexpr double delay_s = 0.3e-3;
// More agents for a server from so many of its bytes on: ours, the paper gives no rule.
constexpr std::uint64_t agent_bytes = 256 << 20;

std::uint64_t bytes_at(Facts const& facts, std::uint32_t rank, std::uint32_t server) {
    return facts.server_bytes[rank * facts.layout->servers() + server];
}

std::uint32_t agents_per_server(Facts const& facts) {
    auto const servers = facts.layout->servers();
    auto const most = std::max(facts.topology->ranks() / servers, 1U);
    auto const wanted = facts.options->cb_nodes != 0 ? facts.options->cb_nodes / servers
                                                     : div_ceil(facts.bytes / servers, agent_bytes);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most));
}

// The agent of a server is the process that asks for most of its bytes and is not an agent yet,
// ties to the lowest rank. When all are, everybody may serve once more.
class Agents {
public:
    explicit Agents(Facts const& facts) : facts_{facts}, taken_(facts.topology->ranks()) {}

    std::uint32_t next(std::uint32_t server) {
        if (std::ranges::find(taken_, false) == taken_.end()) taken_.assign(taken_.size(), false);
        std::optional<std::uint32_t> agent;
        for (std::uint32_t rank = 0; rank < taken_.size(); ++rank)
            if (!taken_[rank] &&
                (!agent || bytes_at(facts_, rank, server) > bytes_at(facts_, *agent, server)))
                agent = rank;
        taken_[*agent] = true;
        return *agent;
    }

private:
    Facts const& facts_;
    std::vector<bool> taken_;
};

// One or more agents for each server, each with a contiguous range of its object, ascending.
Plan plan_agents(Facts const& facts) {
    Plan plan{.way = Plan::Way::staged,
              .window_bytes = window_bytes(facts),
              .list_extents_max = list_extents_max,
              .prefetch = facts.direction == Direction::read && facts.options->direct_read};
    auto const per_server = agents_per_server(facts);
    Agents agents{facts};
    std::vector<std::vector<Realm>> shares;
    for (std::uint32_t server = 0; server < facts.layout->servers(); ++server)
        shares.push_back(split_evenly(facts.layout->bytes_of(server, facts.touched), per_server,
                                      cut_unit(facts)));
    for (std::uint32_t turn = 0; turn < per_server; ++turn)
        for (std::uint32_t server = 0; server < shares.size(); ++server) {
            plan.aggregators.push_back(agents.next(server));
            plan.realms.push_back(shares[server][turn]);
        }
    return plan;
}

// Processes that have servers in common are in one set: its lowest rank, by rank.
std::vector<std::uint32_t> process_sets(Facts const& facts) {
    auto const ranks = facts.topology->ranks();
    std::vector<std::uint32_t> parent(ranks);
    std::iota(parent.begin(), parent.end(), 0);
    auto const root = [&](std::uint32_t rank) {
        while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
        return rank;
    };
    for (std::uint32_t server = 0; server < facts.layout->servers(); ++server) {
        std::optional<std::uint32_t> first;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (bytes_at(facts, rank, server) == 0) continue;
            if (!first) first = rank;
            auto const [low, high] = std::minmax({root(*first), root(rank)});
            parent[high] = low;
        }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) parent[rank] = root(rank);
    return parent;
}

std::uint32_t servers_of(Facts const& facts, std::vector<std::uint32_t> const& members) {
    std::uint32_t count = 0;
    for (std::uint32_t server = 0; server < facts.layout->servers(); ++server)
        count += std::ranges::any_of(members,
                                     [&](auto rank) { return bytes_at(facts, rank, server) > 0; });
    return count;
}

// The non-overlapping condition holds: no exchange. Processes access the file for themselves, in
// groups of as many as their set has servers; process i of a set begins after process i - n has
// issued its requests.
Plan plan_groups(Facts const& facts) {
    Plan plan{.way = Plan::Way::direct, .delay_s = delay_s};
    auto const ranks = facts.topology->ranks();
    plan.waits_for.resize(ranks);
    std::iota(plan.waits_for.begin(), plan.waits_for.end(), 0);
    std::vector<std::vector<std::uint32_t>> members(ranks);
    auto const set_of = process_sets(facts);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (facts.ranks[rank].bytes > 0) members[set_of[rank]].push_back(rank);
    for (auto const& set : members) {
        auto const group = servers_of(facts, set);
        for (std::size_t i = group; i < set.size(); ++i) plan.waits_for[set[i]] = set[i - group];
    }
    return plan;
}

Plan plan_resonant(Facts const& facts) {
    return facts.rank_ordered ? plan_groups(facts) : plan_agents(facts);
}

}  // namespace

constinit Strategy const resonant{
    .name = "resonant",
    .summary = "an agent per data server, requests in ascending order; in turns where none overlap",
    .source = "Resonant I/O, IPDPS 2009, sections 3.2 to 3.5",
    .gathers = Gathers::server_bytes,
    .unfit = unfit_for_servers,
    .plan = plan_resonant,
    .promising = has_several_servers,
};

}  // namespace unisono
