// A strategy from outside of Unisono: rank 0 alone accesses the file, for devices that take one
// writer at a time. Use it with UNISONO_PLUGINS=.../libone_writer.so UNISONO_STRATEGY=one_writer.
#include "unisono/plugin.hpp"

using namespace unisono;

namespace {

// All of the touched range is rank 0's realm.
Plan plan_one_writer(Facts const& facts, Options const& /*options*/) {
    Plan plan{.way = Plan::Way::staged, .window_bytes = 1 << 20};
    plan.aggregators = {0};
    plan.realms = {contiguous_realm(facts.touched)};
    return plan;
}

std::string_view unfit_one_writer(Facts const& facts) {
    return facts.ascending ? "" : "a view's tiles run into each other: offsets do not ascend";
}

}  // namespace

constinit Plugin const unisono_plugin{.strategy = {
                                          .name = "one_writer",
                                          .summary = "rank 0 does all file access",
                                          .source = "example",
                                          .unfit = unfit_one_writer,
                                          .plan = plan_one_writer,
                                      }};
