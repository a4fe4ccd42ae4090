#include "strategies/all.hpp"
#include "strategies/mapping.hpp"

namespace unisono {

// Each rank accesses its own request in ascending order, as list I/O; no data moves between ranks.
//
// Overwrites on one node's own file system go through a mapping of the file where that pays: one
// copy, straight from the user's memory. That needs bytes that exist: a mapping does not grow a
// file, and filling holes page by page is slow.
constinit Strategy const independent{
    .name = "independent",
    .summary = "each rank its own request, as ascending list I/O or through a mapping of the file",
    .source = "the baseline of every paper; the mapping is ours",
    .unfit = [](Facts const&) { return std::string_view{}; },
    .plan =
        [](Facts const& facts) {
            auto const rank_bytes = facts.bytes / facts.topology->ranks();
            return Plan{
                .way = Plan::Way::direct,
                .mapped = facts.mappable && facts.ascending && facts.allocated &&
                          mapping_pays(facts.direction, rank_bytes, facts.mean_piece_bytes())};
        },
};

}  // namespace unisono
