#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

// As many aggregators as data servers, each for one server, in the order of its object:
//   stripes   | 0 | 1 | 2 | 0 | 1 | 2 |
//   a0 (s0)   |===|           |===|
//   a1 (s1)       |===|           |===|
//   a2 (s2)           |===|           |===|
// Fewer ranks than servers: a rank aggregates for several.
// Differs (section 2.2): lists of extents, in rounds of cb_buffer_size, where the paper has one
// request per piece.
Plan plan_disk_first(Facts const& facts, Options const& options) {
    auto const servers = facts.layout->servers();
    Plan plan{.way = Plan::Way::staged, .window_bytes = window_bytes(facts, options)};
    auto const ranks = spread_over_nodes(*facts.topology, servers);
    for (std::uint32_t server = 0; server < servers; ++server) {
        plan.aggregators.push_back(ranks[server % ranks.size()]);
        plan.realms.push_back(facts.layout->bytes_of(server, facts.touched));
    }
    return plan;
}

}  // namespace

constinit Strategy const disk_first{
    .name = "disk_first",
    .summary = "one aggregator per data server, which it accesses in ascending order",
    .source = "Orthrus, ISC 2014, section 2.2",
    .unfit = unfit_for_servers,
    .plan = plan_disk_first,
    .worth_measuring = has_several_servers,
};

}  // namespace unisono
