// Server-wide windows (Song, Yin, Sun, Thakur, Lang, SC 2011): all servers serve one program for a
// whole window, then the next. Who began to want first is first.
// Differs: a program that wants nothing for a quarter of its window gives the rest away.
#include <algorithm>

#include "orchestra/policies/slices.hpp"

namespace unisono::orchestra {

namespace {

Decision serve_one_at_a_time(Report const& report, Time window) {
    auto programs = wanting(report, 2 * window);
    std::ranges::stable_sort(programs, {}, &ProgramReport::phase_began_ms);
    Decision decision{.window = window, .work_conserving = true};
    for (auto const* program : programs) {
        decision.eligibilities.push_back({program->id, true, "all programs are"});
        if (programs.size() > 1) decision.objects.push_back({{program->id}, window, window / 4});
    }
    return decision;
}

}  // namespace

std::unique_ptr<Policy> make_one_at_a_time_policy(PolicySettings const& settings) {
    return make_memoryless_policy(serve_one_at_a_time, settings);
}

}  // namespace unisono::orchestra
