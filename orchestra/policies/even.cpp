// The comparison of the paper's figure 7: the window is "evenly allocated to each scheduling
// object". There each of three programs has a third, eligible or not, so every program is an
// object.
#include "orchestra/policies/slices.hpp"
#include "orchestra/policy.hpp"

namespace unisono::orchestra {

namespace {

class EvenPolicy final : public Policy {
public:
    explicit EvenPolicy(PolicySettings const& settings)
        : window_(settings.window.value_or(500 * millisecond)) {}

    Decision decide(Report const& report) override {
        Decision decision{.window = window_};
        auto const programs = wanting(report, 2 * window_);
        std::vector<double> const weights(programs.size(), 1.0);
        auto const slices = proportional_slices(window_, weights);
        for (std::size_t i = 0; i < programs.size(); ++i) {
            decision.eligibilities.push_back({programs[i]->id, true, "all programs are"});
            if (programs.size() > 1) decision.objects.push_back({{programs[i]->id}, slices[i], 0});
        }
        return decision;
    }

private:
    Time window_;
};

}  // namespace

std::unique_ptr<Policy> make_even_policy(PolicySettings const& settings) {
    return std::make_unique<EvenPolicy>(settings);
}

}  // namespace unisono::orchestra
