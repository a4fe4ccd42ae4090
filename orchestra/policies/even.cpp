// The comparison of the paper's figure 7: the window is "evenly allocated to each scheduling
// object". There each of three programs has a third, eligible or not, so every program is an
// object.
#include "orchestra/policies/slices.hpp"

namespace unisono::orchestra {

namespace {

Decision share_evenly(Report const& report, Time window) {
    Decision decision{.window = window};
    auto const programs = wanting(report, 2 * window);
    std::vector<double> const weights(programs.size(), 1.0);
    auto const slices = proportional_slices(window, weights);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        decision.eligibilities.push_back({programs[i]->id, true, "all programs are"});
        if (programs.size() > 1) decision.objects.push_back({{programs[i]->id}, slices[i], 0});
    }
    return decision;
}

}  // namespace

std::unique_ptr<Policy> make_even_policy(PolicySettings const& settings) {
    return make_memoryless_policy(share_evenly, settings);
}

}  // namespace unisono::orchestra
