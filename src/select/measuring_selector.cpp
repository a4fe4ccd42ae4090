#include <algorithm>
#include <cmath>
#include <deque>

#include "select/selector.hpp"

namespace unisono {
namespace {

// Trying others may cost this share of all time.
constexpr double budget = 0.05;
// So many calls tell candidates apart whose confidence intervals do not.
constexpr std::uint32_t calls_enough = 3;
// A candidate this much slower in its first call is out.
constexpr double hopeless = 0.6;
// Drift: single calls may be 10 % slower than before without counting, and the rest has to add up
// to two calls at half speed.
constexpr double slack = 0.1;
constexpr double drift_sum = 1.4;  // 2 * log(2)

/// One candidate's calls, as logarithms of bytes per second: ratios become differences.
struct Arm {
    Strategy const* strategy = nullptr;
    std::uint32_t calls = 0;
    double mean = 0;
    double squares = 0;  // of differences from the mean

    void add(double value) {
        ++calls;
        auto const difference = value - mean;
        mean += difference / calls;
        squares += difference * (value - mean);
    }
    // Half of an interval that holds the true mean in most cases; a call varies by 10 % at least.
    [[nodiscard]] double uncertainty() const {
        auto const variance = calls < 2 ? 0.01 : std::max(squares / (calls - 1), 0.0025);
        return 2 * std::sqrt(variance / calls);
    }
};

class Examination {
public:
    Selector::Choice choose(std::span<Strategy const* const> candidates) {
        auto const* const best = best_of(candidates);
        if (best == nullptr) return {candidates[0], "the rule's choice, nothing is known yet"};
        if (tried_s_ <= budget * total_s_)
            for (auto const* candidate : candidates)
                if (worth_trying(arm(candidate), *best)) return {candidate, "tried"};
        return {best->strategy, "fastest so far"};
    }

    void learn(Strategy const* strategy, double bytes, double seconds) {
        auto& mine = arm(strategy);
        auto const speed = std::log(bytes / seconds);
        total_s_ += seconds;
        auto const best = best_mean();
        if (best && speed < *best) tried_s_ += seconds - bytes / std::exp(*best);
        if (best && mine.calls >= calls_enough && mine.mean >= *best) note_drift(mine, speed);
        mine.add(speed);
    }

    void refuse(Strategy const* strategy) {
        arm(strategy) = {.strategy = strategy, .calls = calls_enough, .mean = -1e9};
    }

private:
    Arm& arm(Strategy const* strategy) {
        auto const known = std::ranges::find(arms_, strategy, &Arm::strategy);
        return known != arms_.end() ? *known : arms_.emplace_back(Arm{.strategy = strategy});
    }
    Arm const* best_of(std::span<Strategy const* const> candidates) {
        Arm const* best = nullptr;
        for (auto const& one : arms_)
            if (one.calls > 0 && std::ranges::find(candidates, one.strategy) != candidates.end() &&
                (best == nullptr || one.mean > best->mean))
                best = &one;
        return best;
    }
    [[nodiscard]] std::optional<double> best_mean() const {
        std::optional<double> best;
        for (auto const& one : arms_)
            if (one.calls > 0) best = std::max(best.value_or(one.mean), one.mean);
        return best;
    }
    static bool worth_trying(Arm const& arm, Arm const& best) {
        if (arm.calls == 0) return best.calls >= 2;
        if (arm.strategy == best.strategy || arm.calls >= calls_enough) return false;
        if (arm.mean < best.mean + std::log(hopeless)) return false;
        return arm.mean + arm.uncertainty() > best.mean - best.uncertainty();
    }
    // One-sided cumulative sum of how much slower than usual the winner is.
    void note_drift(Arm& winner, double speed) {
        slower_ = std::max(0.0, slower_ + (winner.mean - speed - slack));
        if (slower_ < drift_sum) return;
        slower_ = 0;
        for (auto& one : arms_) one = {.strategy = one.strategy};
    }

    std::deque<Arm> arms_;  // stay where they are
    double total_s_ = 0;
    double tried_s_ = 0;  // what calls took longer than the best candidate would have
    double slower_ = 0;
};

class MeasuringSelector final : public Selector {
public:
    Choice choose(Signature const& signature,
                  std::span<Strategy const* const> candidates) override {
        return table_[class_of(signature)].choose(candidates);
    }
    void learn(Signature const& signature, Strategy const* strategy, double seconds) override {
        if (seconds <= 0 || signature.bytes == 0) return;
        table_[class_of(signature)].learn(strategy, static_cast<double>(signature.bytes), seconds);
    }

    void refuse(Signature const& signature, Strategy const* strategy) override {
        table_[class_of(signature)].refuse(strategy);
    }

private:
    std::map<Signature, Examination> table_;
};

}  // namespace

std::unique_ptr<Selector> make_measuring_selector() {
    return std::make_unique<MeasuringSelector>();
}

}  // namespace unisono
