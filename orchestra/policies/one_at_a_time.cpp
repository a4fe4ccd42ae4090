// Server-wide windows (Song, Yin, Sun, Thakur, Lang, SC 2011): all servers serve one program for a
// whole window, then the next. Who began to want first is first.
// Differs: a program that wants nothing for a quarter of its window gives the rest away.
#include <algorithm>

#include "orchestra/policies/slices.hpp"
#include "orchestra/policy.hpp"

namespace unisono::orchestra {

namespace {

class OneAtATimePolicy final : public Policy {
public:
    explicit OneAtATimePolicy(PolicySettings const& settings)
        : window_(settings.window.value_or(500 * millisecond)) {}

    Decision decide(Report const& report) override {
        auto programs = wanting(report, 2 * window_);
        std::ranges::stable_sort(programs, {}, &ProgramReport::phase_began_ms);
        Decision decision{.window = window_, .work_conserving = true};
        for (auto const* program : programs) {
            decision.eligibilities.push_back({program->id, true, "all programs are"});
            if (programs.size() > 1)
                decision.objects.push_back({{program->id}, window_, window_ / 4});
        }
        return decision;
    }

private:
    Time window_;
};

}  // namespace

std::unique_ptr<Policy> make_one_at_a_time_policy(PolicySettings const& settings) {
    return std::make_unique<OneAtATimePolicy>(settings);
}

}  // namespace unisono::orchestra
