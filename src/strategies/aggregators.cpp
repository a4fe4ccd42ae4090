#include "strategies/aggregators.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "options/cb_config_list.hpp"

namespace unisono {
namespace {

// Round-robin over the nodes, no more than `allowed` of each.
std::vector<std::uint32_t> spread(Topology const& topology,
                                  std::vector<std::uint32_t> const& allowed, std::size_t wanted) {
    std::vector<std::uint32_t> chosen;
    auto any = true;
    for (std::size_t turn = 0; any && chosen.size() < wanted; ++turn) {
        any = false;
        for (std::size_t node = 0; node < allowed.size() && chosen.size() < wanted; ++node) {
            if (turn >= allowed[node]) continue;
            chosen.push_back(topology.ranks_of[node][turn]);
            any = true;
        }
    }
    std::ranges::sort(chosen);
    return chosen;
}

std::vector<std::uint32_t> ranks_per_node(Topology const& topology) {
    std::vector<std::uint32_t> counts;
    for (auto const& ranks : topology.ranks_of)
        counts.push_back(static_cast<std::uint32_t>(ranks.size()));
    return counts;
}

// Stripe units with a byte that somebody touches: between these realms are cut. As many as there
// may be where units are not known.
std::uint64_t units_touched(Facts const& facts) {
    auto const unit = facts.layout == nullptr ? 0 : facts.layout->unit_at(facts.touched.begin);
    if (facts.local_storage || unit == 0 || facts.touched.empty())
        return std::numeric_limits<std::uint64_t>::max();
    return (facts.touched.end - 1) / unit - facts.touched.begin / unit + 1;
}

std::uint32_t default_count(Facts const& facts) {
    if (facts.local_storage) return facts.topology->ranks();
    auto const per_card = facts.topology->nodes() * facts.topology->machine.nics;
    return std::max(per_card, facts.layout == nullptr ? 0 : facts.layout->servers());
}

// Every node has as many, if it has as many ranks: then its realms lie in the file where its ranks'
// data do, if these follow each other node by node, and no node has more to do.
std::uint64_t as_many_on_each_node(Facts const& facts, std::uint64_t count) {
    return round_up(count, facts.topology->nodes());
}

std::vector<std::uint32_t> choose(Facts const& facts, Options const& options,
                                  std::uint64_t by_default) {
    std::uint64_t wanted = options.cb_nodes;
    if (wanted == 0) wanted = options.cb_config_list.empty() ? by_default : facts.topology->ranks();
    auto aggregators = spread(*facts.topology, aggregators_allowed(facts, options), wanted);
    assert(!aggregators.empty());
    return aggregators;
}

}  // namespace

std::vector<std::uint32_t> spread_over_nodes(Topology const& topology, std::uint32_t wanted) {
    return spread(topology, ranks_per_node(topology), wanted == 0 ? topology.ranks() : wanted);
}

std::vector<std::uint32_t> aggregators_allowed(Facts const& facts, Options const& options) {
    auto ranks = ranks_per_node(*facts.topology);
    if (options.cb_config_list.empty()) return ranks;
    auto names = facts.topology->names;
    names.resize(ranks.size());
    auto const allowed =
        aggregators_per_node(*parse_cb_config_list(options.cb_config_list), names, ranks);
    auto const none = std::ranges::all_of(allowed, [](auto count) { return count == 0; });
    return none ? ranks : allowed;
}

std::vector<std::uint32_t> choose_aggregators(Facts const& facts, Options const& options) {
    return choose(facts, options, default_count(facts));
}

std::vector<std::uint32_t> choose_aggregators_of_call(Facts const& facts, Options const& options) {
    return choose(facts, options,
                  std::min<std::uint64_t>(default_count(facts), units_touched(facts)));
}

std::vector<std::uint32_t> choose_equally_many_of_nodes(Facts const& facts,
                                                        Options const& options) {
    auto const count = as_many_on_each_node(facts, default_count(facts));
    return choose(facts, options, std::min(count, units_touched(facts)));
}

std::vector<std::uint32_t> with_most_bytes(Facts const& facts,
                                           std::vector<std::uint32_t> candidates,
                                           std::size_t count) {
    assert(facts.ranks.size() == facts.topology->ranks());
    std::ranges::stable_sort(
        candidates, [&](auto a, auto b) { return facts.ranks[a].bytes > facts.ranks[b].bytes; });
    candidates.resize(std::min(count, candidates.size()));
    std::ranges::sort(candidates);
    return candidates;
}

}  // namespace unisono
