#include <algorithm>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

// First to last byte that the node's ranks ask for.
Extent touched_by(std::vector<std::uint32_t> const& ranks, Facts const& facts) {
    Extent all;
    for (auto const rank : ranks) all = hull(all, facts.ranks[rank].touched);
    return all;
}

// Each node for itself, so that no data moves between nodes: what its ranks ask for is the realm
// of the one of them that asks for most.
//   node 0    =====   =====  ==       |------ a0 ------|
//   node 1       ===     ==      ===     |------- a1 -------|     realms of nodes may overlap
// Differs (section 2.2): cb_config_list allows several aggregators for each node; lists of extents,
// in rounds of cb_buffer_size, where the paper has one request per piece; windows are read whole
// where at least half of them is wanted.
Plan plan_core_first(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::staged,
              .within_nodes = true,
              .window_bytes = window_bytes(facts, options)};
    // Several aggregators on a node only where cb_config_list says so.
    auto allowed = aggregators_allowed(facts, options);
    if (options.cb_config_list.empty()) allowed.assign(allowed.size(), 1);
    for (std::size_t node = 0; node < allowed.size(); ++node) {
        auto const& ranks = facts.topology->ranks_of[node];
        auto const aggregators = with_most_bytes(facts, ranks, std::max(allowed[node], 1U));
        auto const shares =
            split_evenly(touched_by(ranks, facts), static_cast<std::uint32_t>(aggregators.size()),
                         storage_page_bytes);
        for (std::size_t i = 0; i < aggregators.size(); ++i) {
            plan.aggregators.push_back(aggregators[i]);
            plan.realms.push_back(contiguous_realm(shares[i]));
        }
    }
    return plan;
}

std::string_view unfit_core_first(Facts const& facts) {
    if (auto const why = unfit_to_share_pages(facts); !why.empty()) return why;
    return unfit_to_stage(facts);
}

}  // namespace

constinit Strategy const core_first{
    .name = "core_first",
    .summary = "one aggregator per node for that node's data: no traffic between nodes",
    .source = "Orthrus, ISC 2014, section 2.2",
    .gathers = Gathers::ranks,
    .unfit = unfit_core_first,
    .plan = plan_core_first,
    .worth_measuring = [](Facts const& facts) { return facts.topology->nodes() > 1; },
};

}  // namespace unisono
