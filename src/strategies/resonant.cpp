#include <algorithm>
#include <iterator>
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

std::uint32_t agents_per_server(Facts const& facts, Options const& options) {
    auto const servers = facts.layout->servers();
    auto const most = std::max(facts.topology->ranks() / servers, 1U);
    auto const wanted = options.cb_nodes != 0 ? options.cb_nodes / servers
                                              : div_ceil(facts.bytes / servers, agent_bytes);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most));
}

// The agents of a server are the processes that ask for most of its bytes and are no agents yet,
// ties to the lowest rank. Where there are fewer processes than agents, of which the paper does not
// speak, each may be as many as it takes: so a process is the agent of all servers that it asks
// alone (figure 2, two processes at 128 KiB), and nothing has to cross.
class Agents {
public:
    Agents(Facts const& facts, std::uint32_t agents)
        : facts_{facts},
          most_{div_ceil(agents, facts.topology->ranks())},
          serves_(facts.topology->ranks()) {}

    /// `count` agents, ascending.
    std::vector<std::uint32_t> of(std::uint32_t server, std::uint32_t count) {
        using Candidate = std::pair<std::uint64_t, std::uint32_t>;  // ~bytes, rank: best first
        std::vector<Candidate> candidates;
        candidates.reserve(serves_.size());
        for (std::uint32_t rank = 0; rank < serves_.size(); ++rank)
            if (serves_[rank] < most_)
                candidates.emplace_back(~bytes_at(facts_, rank, server), rank);
        std::ranges::partial_sort(candidates, candidates.begin() + count);
        std::vector<std::uint32_t> agents;
        for (auto const& [bytes, rank] : std::span{candidates}.first(count)) {
            agents.push_back(rank);
            ++serves_[rank];
        }
        std::ranges::sort(agents);
        return agents;
    }

private:
    Facts const& facts_;
    std::uint64_t most_;
    std::vector<std::uint32_t> serves_;  // how many servers, by rank
};

// Differs (section 3.3): pieces of different ranks that touch become one request; others' data
// comes from the agent, where the paper's agents warm the servers' caches with it and its owners
// read it for themselves (unisono_resonant_read=direct). Several agents of a server are not timed
// against each other (3.4).
//
// One or more agents for each server, each with a contiguous range of its object, ascending.
Plan plan_agents(Facts const& facts, Options const& options) {
    Plan plan{
        .way = Plan::Way::staged,
        .window_bytes = window_bytes(facts, options),
        .list_extents_max = list_extents_max,
        .prefetch_then_read = facts.direction == Direction::read && options.prefetch_then_read};
    auto const per_server = agents_per_server(facts, options);
    Agents agents{facts, per_server * facts.layout->servers()};
    for (std::uint32_t server = 0; server < facts.layout->servers(); ++server) {
        std::ranges::copy(agents.of(server, per_server), std::back_inserter(plan.aggregators));
        std::ranges::copy(split_evenly(facts.layout->bytes_of(server, facts.touched), per_server,
                                       cut_unit(facts, options)),
                          std::back_inserter(plan.realms));
    }
    return plan;
}

/// Processes that have servers in common are in one set, called by its lowest rank.
struct ProcessSets {
    std::vector<std::uint32_t> set_of;   ///< by rank
    std::vector<std::uint32_t> servers;  ///< by set: how many its processes ask
};

ProcessSets process_sets(Facts const& facts) {
    auto const ranks = facts.topology->ranks();
    ProcessSets sets{.set_of = std::vector<std::uint32_t>(ranks),
                     .servers = std::vector<std::uint32_t>(ranks)};
    auto& parent = sets.set_of;
    std::iota(parent.begin(), parent.end(), 0);
    auto const root = [&](std::uint32_t rank) {
        while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
        return rank;
    };
    std::vector<std::optional<std::uint32_t>> first(facts.layout->servers());  // to ask a server
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (std::uint32_t server = 0; server < first.size(); ++server) {
            if (bytes_at(facts, rank, server) == 0) continue;
            if (!first[server]) first[server] = rank;
            auto const [low, high] = std::minmax({root(*first[server]), root(rank)});
            parent[high] = low;
        }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) parent[rank] = root(rank);
    for (auto const& rank : first)
        if (rank) ++sets.servers[parent[*rank]];
    return sets;
}

/// Those that ask for something, by set, ascending.
std::vector<std::vector<std::uint32_t>> members_of(ProcessSets const& sets, Facts const& facts) {
    std::vector<std::vector<std::uint32_t>> members(sets.set_of.size());
    for (std::uint32_t rank = 0; rank < members.size(); ++rank)
        if (facts.ranks[rank].bytes > 0) members[sets.set_of[rank]].push_back(rank);
    return members;
}

// The non-overlapping condition holds: no exchange. Processes access the file for themselves, in
// groups; process i of a set begins after process i - g has issued its requests, where g is the
// size of a group. The paper has both "n process groups" and "group k, where k = i/n", for n
// servers: so many groups (unisono_resonant_groups=by_count), or groups of so many (by_size).
// Differs (section 3.4): there, a group waits for all of the group before it. Here each waits for
// one: a message for each process, and nobody waits for a slow one elsewhere. Where all who wait
// share a single server, order is all there is to gain, and the message that gives it is enough:
// there is no delay.
Plan plan_groups(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::direct};
    auto const ranks = facts.topology->ranks();
    plan.waits_for.resize(ranks);
    std::iota(plan.waits_for.begin(), plan.waits_for.end(), 0);
    auto const sets = process_sets(facts);
    auto const members = members_of(sets, facts);
    for (std::uint32_t set = 0; set < ranks; ++set) {
        auto const servers = sets.servers[set];
        auto const& its = members[set];
        std::size_t const group = options.as_many_groups_as_servers && servers > 0
                                      ? div_ceil(its.size(), servers)
                                      : servers;
        for (auto i = group; i < its.size(); ++i) plan.waits_for[its[i]] = its[i - group];
        if (group < its.size() && servers > 1) plan.delay_s = delay_s;
    }
    return plan;
}

Plan plan_resonant(Facts const& facts, Options const& options) {
    return facts.rank_ordered ? plan_groups(facts, options) : plan_agents(facts, options);
}

std::string_view unfit_resonant(Facts const& facts) {
    if (auto const why = unfit_for_servers(facts); !why.empty()) return why;
    return facts.rank_ordered ? unfit_to_share_pages(facts) : "";
}

}  // namespace

constinit Strategy const resonant{
    .name = "resonant",
    .summary = "an agent per data server, requests in ascending order; in turns where none overlap",
    .source = "Resonant I/O, IPDPS 2009, sections 3.2 to 3.5",
    .gathers = Gathers::server_bytes,
    .unfit = unfit_resonant,
    .plan = plan_resonant,
    .worth_measuring = has_several_servers,
};

}  // namespace unisono
