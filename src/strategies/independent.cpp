#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {

namespace {

std::string_view unfit_independent(Facts const& facts) {
    return facts.ascending ? unfit_to_share_pages(facts) : "";
}

}  // namespace

// Each rank accesses its own request in ascending order, as list I/O; no data moves between ranks.
constinit Strategy const independent{
    .name = "independent",
    .summary = "each rank its own request, as ascending list I/O",
    .source = "the baseline of every paper",
    .unfit = unfit_independent,
    .plan = [](Facts const& /*facts*/,
               Options const& /*options*/) { return Plan{.way = Plan::Way::direct}; },
};

}  // namespace unisono
