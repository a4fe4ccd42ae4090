// A plug-in for tests, whose plans are wrong in the way that UNISONO_BAD_PLAN names.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "unisono/plugin.hpp"

using namespace unisono;

namespace {

// Two aggregators of rank 0, half of what is touched each: nothing wrong so far.
Plan halves(Facts const& facts) {
    auto const& touched = facts.touched;
    auto const middle = touched.begin + touched.bytes() / 2;
    return {.way = Plan::Way::staged,
            .aggregators = {0, 0},
            .realms = {contiguous_realm({touched.begin, middle}),
                       contiguous_realm({middle, touched.end})},
            .window_bytes = 1 << 16};
}

// Of the ranks, where they are threads of one process, the one that asks first in each call.
bool is_first(Facts const& facts) {
    static std::atomic<std::uint32_t> asked = 0;
    return asked++ % facts.topology->ranks() == 0;
}

using Kind = void (*)(Plan&, Facts const&);

constexpr std::array<std::pair<std::string_view, Kind>, 15> kinds{{
    {"none", [](Plan&, Facts const&) {}},
    {"overlap", [](Plan& plan, Facts const&) { --plan.realms[1].positions.begin; }},
    {"hole", [](Plan& plan, Facts const&) { --plan.realms[0].positions.end; }},
    {"beyond", [](Plan& plan, Facts const&) { ++plan.realms[1].positions.end; }},
    {"descending", [](Plan& plan, Facts const&) { plan.realms[1].tiling.extent = 0; }},
    {"rank", [](Plan& plan, Facts const& facts) { plan.aggregators[1] = facts.topology->ranks(); }},
    {"realms", [](Plan& plan, Facts const&) { plan.realms.pop_back(); }},
    {"window", [](Plan& plan, Facts const&) { plan.window_bytes = 0; }},
    {"turns",
     [](Plan& plan, Facts const& facts) {
         plan = {.way = Plan::Way::direct};
         for (std::uint32_t rank = 0; rank < facts.topology->ranks(); ++rank)
             plan.waits_for.push_back((rank + 1) % facts.topology->ranks());
     }},
    {"blocks",
     [](Plan& plan, Facts const&) {
         plan = {.way = Plan::Way::cached, .aggregators = {0}, .pool_bytes = 1 << 20};
     }},
    {"way", [](Plan& plan, Facts const&) { plan.way = Plan::Way{77}; }},
    {"throws", [](Plan&, Facts const&) { throw std::runtime_error{"no plan today"}; }},
    {"throws_a_number", [](Plan&, Facts const&) { throw 42; }},
    // Each thread and each process has another boundary between the two realms.
    {"different",
     [](Plan& plan, Facts const&) {
         auto& low = plan.realms[0].positions;
         low.end = low.begin + static_cast<std::uint64_t>(gettid()) % low.bytes();
         plan.realms[1].positions.begin = low.end;
     }},
    {"different_ways",
     [](Plan& plan, Facts const& facts) {
         if (is_first(facts)) plan = {.way = Plan::Way::direct};
     }},
}};

bool is_wanted(std::string_view kind) {
    auto const* const wanted = std::getenv("UNISONO_BAD_PLAN");
    return wanted != nullptr && kind == wanted;
}

Plan plan_badly(Facts const& facts, Options const&) {
    auto plan = halves(facts);
    for (auto const& [name, spoil] : kinds)
        if (is_wanted(name)) spoil(plan, facts);
    return plan;
}

std::string_view unfit_bad_plans(Facts const& facts) {
    if (is_wanted("unfit_for_some") && is_first(facts)) return "for some ranks";
    return facts.ascending && facts.touched.bytes() > 100 ? "" : "not enough to be wrong about";
}

std::uint64_t cell_bytes_of_bad_plans(Facts const& facts, Options const&) {
    if (!is_wanted("different_cells")) return 0;
    return is_first(facts) ? 100 : 1000;
}

}  // namespace

constinit Plugin const unisono_plugin{.strategy = {
                                          .name = "bad_plans",
                                          .summary = "what a plug-in must not do",
                                          .source = "test",
                                          .cell_bytes = cell_bytes_of_bad_plans,
                                          .unfit = unfit_bad_plans,
                                          .plan = plan_badly,
                                      }};
