#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {

namespace {

std::string_view unfit_independent(Facts const& facts) {
    if (facts.ascending && pages_must_not_be_shared(facts))
        return "this file system writes whole pages back, and nodes may share one";
    return {};
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
