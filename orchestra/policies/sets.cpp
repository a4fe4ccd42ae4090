// IO-SETS (Boito, Pallez, Teylo, Vidal): programs whose times between I/O phases have the same
// order of magnitude are a set. Within a set one program at a time has the set's share, first come
// first served; sets share the servers with weights that fall by ten from set to set, so that
// programs that come often wait little, and those that come rarely hardly notice. Differs: sharing
// is by slices; who waits within its set has the smallest slice instead of nothing, because a wrong
// guess at a period must not stop a program.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "orchestra/policies/slices.hpp"

namespace unisono::orchestra {

namespace {

constexpr Time slice_min = 10 * millisecond;

// A program that has not come back yet has at least waited for as long as it is here.
int set_of(ProgramReport const& program, double now_ms) {
    auto const period_s = program.characteristic_s > 0 ? program.characteristic_s
                                                       : (now_ms - program.phase_began_ms) / 1e3;
    return static_cast<int>(std::lround(std::log10(std::max(period_s, 1e-3))));
}

Decision serve_heads_of_sets(Report const& report, Time window) {
    auto programs = wanting(report, 2 * window);
    std::ranges::stable_sort(programs, {}, &ProgramReport::phase_began_ms);
    Decision decision{.window = window, .work_conserving = true};
    if (programs.empty()) return decision;
    std::map<int, bool> has_head;
    std::vector<double> weights;
    for (auto const* program : programs) {
        auto const set = set_of(*program, report.now_ms);
        bool const head = !std::exchange(has_head[set], true);
        weights.push_back(head ? std::pow(10.0, -set) : 1e-9);
        decision.eligibilities.push_back(
            {program->id, head,
             std::string(head ? "first" : "waits") + " in set 10^" + std::to_string(set) + " s"});
    }
    if (programs.size() < 2) return decision;
    auto const slices = bounded_slices(window, weights, slice_min, window);
    for (std::size_t i = 0; i < programs.size(); ++i)
        decision.objects.push_back({{programs[i]->id}, slices[i], slice_min});
    return decision;
}

}  // namespace

std::unique_ptr<Policy> make_sets_policy(PolicySettings const& settings) {
    return make_memoryless_policy(serve_heads_of_sets, settings);
}

}  // namespace unisono::orchestra
