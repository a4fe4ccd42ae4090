#include "select/examination.hpp"

#include <algorithm>
#include <cmath>

#include "support/text.hpp"

namespace unisono {
namespace {

// Of all time, where earlier runs have tried some candidates already.
constexpr double remembering_budget_share = 0.02;
// A loop of so many calls has nothing to gain by a trial.
constexpr std::uint64_t short_loop = 4;
// So many calls tell candidates apart whose confidence intervals do not.
constexpr std::uint32_t calls_enough = 3;
// After a first call that took longer by up to so many times what it was expected to set up, a
// second one decides.
constexpr double setup_allowance = 2;
// A candidate this much slower in its first call is out; its later calls set nothing up any more.
constexpr double hopeless = 0.5;
// Earlier runs are forgotten when the best takes this much longer than it did then.
constexpr double doubtful = 1.5;
// Drift: single calls may differ by 10 %, or half a standard deviation, without counting, none
// counts for more than twice the time, and the rest has to add up to three such calls, or six
// standard deviations: with noise alone that takes thousands of calls (Page's test, Biometrika
// 1954).
constexpr double slack_least = 0.1;
constexpr double slack_deviations = 0.5;
constexpr double step_most = 0.7;  // log(2)
constexpr double drift_least = 1.8;
constexpr double drift_deviations = 6;
// So many calls may get faster and faster: caches, and whatever was set up late.
constexpr std::uint32_t warm_up = 10;
// What others show must differ by more than that to count here.
constexpr double elsewhere_slack = 0.1;
// Beyond that a report has no use for more.
constexpr std::size_t reopened_listed = 8;
// Runs keep adding calls; what so many have shown is not worth saving.
constexpr std::uint32_t known_well = 8;

}  // namespace

void Examination::remember(std::map<std::string, Score> const& scores, bool frozen) {
    memory_ = scores;
    frozen_ = frozen;
}

Examination::Arm const* Examination::find(Candidate const& candidate) const {
    auto const known = std::ranges::find(arms_, candidate, &Arm::candidate);
    return known != arms_.end() ? &*known : nullptr;
}

Examination::Arm& Examination::arm(Candidate const& candidate) {
    auto const known = std::ranges::find(arms_, candidate, &Arm::candidate);
    if (known != arms_.end()) return *known;
    auto& made = arms_.emplace_back(Arm{.candidate = candidate});
    if (auto const earlier = memory_.find(name_of(candidate)); earlier != memory_.end())
        made.before = earlier->second;
    return made;
}

// Speeds of earlier runs are moved to where this run's are.
double Examination::mean_of(Arm const& arm) const {
    return arm.own.calls > 0 ? arm.own.mean : arm.before.mean + shift_;
}

Examination::Arm const* Examination::best() const {
    Arm const* found = nullptr;
    for (auto const& one : arms_)
        if (one.can && !one.refused && one.known().calls > 0 &&
            (found == nullptr || mean_of(one) > mean_of(*found)))
            found = &one;
    return found;
}

void Examination::Arm::add(double speed) {
    own.add(speed);
    auto const step = std::clamp(speed - level, -step_most, step_most);
    level = own.calls <= 2 ? own.mean : level + step / std::min(own.calls, 50U);
}

// Its first call also set things up.
bool Examination::may_be_faster(Arm const& arm, Arm const& best) const {
    if (arm.own.calls != 1) return false;
    auto const first_s = bytes_ / std::exp(arm.own.mean);
    return first_s - setup_allowance * arm.candidate.setup_s < bytes_ / std::exp(mean_of(best));
}

bool Examination::worth_trying(Arm const& arm, Arm const& best) const {
    auto const& known = arm.known();
    if (arm.refused || &arm == &best || known.calls >= calls_enough) return false;
    if (calls_ < short_loop || best.own.calls < 2) return false;
    if (known.calls == 0 || may_be_faster(arm, best)) return true;
    if (mean_of(arm) < mean_of(best) + std::log(hopeless)) return false;
    return mean_of(arm) + known.uncertainty() > mean_of(best) - best.known().uncertainty();
}

double Examination::worst_case_extra_s(Candidate const& candidate, double best_s,
                                       std::optional<double> slower) {
    auto const worst_case_s =
        std::max(candidate.worst_case_s, best_s * std::exp(slower.value_or(0)));
    return std::max(worst_case_s - best_s, 0.0) + candidate.setup_s;
}

bool Examination::affordable(double extra_s, double best_s) const {
    // A little slower is what any of them may be.
    auto const least_s = budget_.in_advance ? std::max(extra_s, best_s)
                         : extra_s < best_s ? 0
                                            : extra_s;
    auto const share = memory_.empty() ? budget_.share : remembering_budget_share;
    return tried_s_ + least_s <= share * total_s_;
}

Candidate const& Examination::first_of(std::span<Candidate const> candidates,
                                       PriorSlowdown const& prior_slowdown) {
    auto const* first = &candidates[0];
    auto slower = prior_slowdown(*first);
    for (auto const& other : candidates.subspan(1)) {
        auto const theirs = prior_slowdown(other);
        if (!slower || !theirs || *theirs + elsewhere_slack >= *slower) continue;
        first = &other;
        slower = theirs;
    }
    return *first;
}

Candidate const* Examination::next_to_try(std::span<Candidate const> candidates, Arm const& best,
                                          PriorSlowdown const& prior_slowdown) {
    Candidate const* next = nullptr;
    auto next_extra_s = 0.0;
    auto const best_s = bytes_ / std::exp(mean_of(best));
    for (auto const& candidate : candidates) {
        auto const& one = arm(candidate);
        if (!worth_trying(one, best)) continue;
        if (may_be_faster(one, best)) return &candidate;
        auto extra_s = bytes_ / std::exp(mean_of(one)) - best_s;
        if (one.known().calls == 0)
            extra_s = worst_case_extra_s(candidate, best_s,
                                         one.slower ? one.slower : prior_slowdown(candidate));
        // The winner has become slower than these were: going back to them is no trial.
        auto const was_faster = one.known().calls == 0 && one.slower.value_or(0) < 0;
        if (!was_faster && !affordable(extra_s, best_s)) continue;
        if (next != nullptr && extra_s >= next_extra_s) continue;
        next = &candidate;
        next_extra_s = extra_s;
    }
    return next;
}

Examination::Choice Examination::choose(std::span<Candidate const> candidates,
                                        PriorSlowdown const& prior_slowdown) {
    for (auto& one : arms_) one.can = false;
    for (auto const& candidate : candidates) arm(candidate).can = true;
    auto const* const best = this->best();
    if (frozen_ && best == nullptr) return {candidates[0], "the rule's choice: frozen"};
    if (frozen_) return {best->candidate, "fastest in earlier runs: frozen"};
    if (best == nullptr) {
        auto const& first = first_of(candidates, prior_slowdown);
        auto const by_rule = &first == &candidates[0];
        return {first,
                by_rule ? "the rule's choice, nothing is known yet" : "fastest for similar calls"};
    }
    if (auto const* const next = next_to_try(candidates, *best, prior_slowdown))
        return {*next, "tried", /*lasting=*/false};
    return {best->candidate, best->own.calls > 0 ? "fastest so far" : "fastest in earlier runs"};
}

void Examination::learn(Candidate const& candidate, double bytes, double seconds) {
    auto const* const winner = best();
    auto& mine = arm(candidate);
    auto const speed = std::log(bytes / seconds);
    ++calls_;
    bytes_ = bytes;
    total_s_ += seconds;
    if (winner != nullptr && winner != &mine && speed < mean_of(*winner))
        tried_s_ += seconds - bytes / std::exp(mean_of(*winner));
    if (winner == &mine && mine.own.calls >= calls_enough && note_drift(mine, speed)) return;
    mine.add(speed);
    find_shift();
    if (auto const* const now = best()) verify(*now);
}

void Examination::find_shift() {
    auto sum = 0.0;
    auto both = 0;
    for (auto const& one : arms_) {
        if (one.own.calls == 0 || one.before.calls == 0) continue;
        sum += one.own.mean - one.before.mean;
        ++both;
    }
    shift_ = both > 0 ? sum / both : 0;
}

// Earlier runs may have had another machine to themselves, or to share.
void Examination::verify(Arm const& best) {
    if (best.before.calls == 0 || best.own.calls != calls_enough) return;
    auto const slower = best.before.mean - best.own.mean;
    if (slower < std::log(doubtful) + best.own.uncertainty()) return;
    for (auto& one : arms_) one.before = {};
    memory_wrong_ = true;
    reopen(print("%.1f times as slow as in earlier runs", std::exp(slower)));
}

bool Examination::note_drift(Arm& winner, double speed) {
    auto const difference = speed - winner.level;
    auto const step = std::clamp(difference, -step_most, step_most);
    auto const deviation = std::sqrt(winner.own.deviation_squared());
    auto const slack = std::max(slack_least, slack_deviations * deviation);
    auto const enough = std::max(drift_least, drift_deviations * deviation);
    slower_ = std::max(0.0, slower_ - step - slack);
    if (winner.own.calls >= warm_up) faster_ = std::max(0.0, faster_ + step - slack);
    if (std::max(slower_, faster_) < enough || frozen_) return false;
    // The others are where they were, as far as one knows: losers must not cost as much again.
    for (auto& one : arms_)
        if (one.known().calls > 0) one.slower = speed - mean_of(one);
    for (auto& one : arms_)
        one = {.candidate = one.candidate,
               .refused = one.refused,
               .slower = one.slower,
               .can = one.can};
    winner.add(speed);
    reopen(print(difference < 0 ? "slower for good, now %.1f times as slow as before"
                                : "faster for good, now %.1f times as fast as before",
                 std::exp(std::abs(difference))));
    return true;
}

void Examination::reopen(std::string why) {
    slower_ = faster_ = shift_ = 0;
    memory_.clear();
    if (reopened_.size() < reopened_listed) reopened_.push_back({calls_, std::move(why)});
}

void Examination::refuse(Candidate const& candidate) { arm(candidate).refused = true; }

std::optional<double> Examination::slower_than_best(Candidate const& candidate) const {
    auto const* const one = find(candidate);
    auto const* const winner = best();
    if (winner == nullptr || one == nullptr || one->refused || one->known().calls == 0) return {};
    return mean_of(*winner) - mean_of(*one);
}

Explanation Examination::explain() const {
    Explanation explanation{.calls_done = calls_,
                            .seconds = total_s_,
                            .examination_seconds = tried_s_,
                            .reopened = reopened_};
    auto const* const winner = best();
    Arm const* second = nullptr;
    for (auto const& one : arms_) {
        if (one.known().calls == 0) {
            if (!one.refused) explanation.untried.push_back(name_of(one.candidate));
            continue;
        }
        explanation.tried.push_back(
            {name_of(one.candidate), one.own.calls, one.before.calls, std::exp(mean_of(one))});
        if (&one != winner && one.can && !one.refused &&
            (second == nullptr || mean_of(one) > mean_of(*second)))
            second = &one;
    }
    if (winner == nullptr) return explanation;
    explanation.winner = name_of(winner->candidate);
    if (second != nullptr)
        explanation.why =
            print("%.2f times as fast as ", std::exp(mean_of(*winner) - mean_of(*second))) +
            name_of(second->candidate);
    else
        explanation.why = explanation.tried.size() == 1 ? "no other was tried"
                                                        : "no other that was tried can do them";
    return explanation;
}

bool Examination::has_unsaved() const {
    return !frozen_ && std::ranges::any_of(arms_, [](auto const& one) {
        return one.own.calls > one.handed_over && one.before.calls + one.handed_over < known_well;
    });
}

std::map<std::string, Score> Examination::take_unsaved() {
    std::map<std::string, Score> unsaved;
    for (auto& one : arms_) {
        if (one.own.calls <= one.handed_over) continue;
        auto& score = unsaved[name_of(one.candidate)];
        score = one.own;
        score.calls = one.own.calls - one.handed_over;
        score.squares = one.own.deviation_squared() * (score.calls - 1);
        one.handed_over = one.own.calls;
    }
    return unsaved;
}

}  // namespace unisono
