#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Windows of 128 KiB to 1 MiB measure alike; larger ones fall out of the cache.
constexpr std::uint64_t default_window_bytes = 512 * 1024;

// The touched range in even, contiguous realms, one per aggregator:
//   touched   ==========================
//   realms    |--- a0 ---|--- a1 --|- a2 -|     cut at stripes, or at pages
// Each realm goes through its aggregator's collective buffer, window after window.
Plan plan_two_phase(Facts const& facts) {
    auto const& options = *facts.options;
    Plan plan{.way = Plan::Way::staged};
    plan.aggregators = spread_over_nodes(*facts.topology, options.cb_nodes);
    auto const unit = options.striping_unit != 0 ? options.striping_unit : page_bytes;
    for (auto const& share :
         split_evenly(facts.touched, static_cast<std::uint32_t>(plan.aggregators.size()), unit))
        plan.realms.push_back(contiguous_realm(share));
    plan.window_bytes = options.cb_buffer_size != 0 ? options.cb_buffer_size : default_window_bytes;
    return plan;
}

std::string_view unfit_two_phase(Facts const& facts) {
    return facts.ascending ? "" : "a view's tiles run into each other: offsets do not ascend";
}

}  // namespace

constinit Strategy const two_phase{
    .name = "two_phase",
    .summary = "even contiguous file realms, every rank aggregates unless cb_nodes says otherwise",
    .source = "Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO, Frontiers '99",
    .unfit = unfit_two_phase,
    .plan = plan_two_phase,
};

}  // namespace unisono
