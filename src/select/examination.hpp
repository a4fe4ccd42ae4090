#pragma once

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "select/candidate.hpp"
#include "select/explanation.hpp"
#include "select/tuning_record.hpp"

namespace unisono {

/// What trials may cost.
struct Budget {
    double share = 0.04;      ///< of all the time in calls of a class
    bool in_advance = false;  ///< it has room for a whole call before anybody is tried
};
/// Where nobody has asked for them: short programs try nobody.
constexpr Budget unasked_budget{.share = 0.03, .in_advance = true};

/// Which of the candidates is the fastest for one class of calls, found while they are done. A
/// function of what it was told: ranks that are told the same hold the same.
///
/// After four calls others than the fastest known are tried, but only while that has cost less than
/// the budget (2 % where earlier runs have tried some), and losers drop out after one to three
/// calls. Whose trial may take longer than two calls waits until the budget has room for it: for
/// the worst case of its calls, and for what its first one sets up. Two cumulative sums tell a
/// winner that is slower, or faster, for good from single such calls; then the examination is
/// opened again.
///
/// Differs from Orthrus, ISC 2014, section 2.1: no fixed number of runs, no rotation, logarithms
/// instead of a mean of throughputs, drift instead of a deviation by 15 %.
class Examination {
public:
    using Choice = CandidateChoice;
    /// How much slower than the best a candidate usually is prior_slowdown, as a logarithm; nothing
    /// when that is not known.
    using PriorSlowdown = std::function<std::optional<double>(Candidate const&)>;

    explicit Examination(Budget budget = {}) : budget_{budget} {}

    /// Begins with what earlier runs have learnt, instead of with nothing. Their speeds are only
    /// compared with each other; when the best one turns out much slower than it was, all is
    /// forgotten. `frozen`: nobody is tried any more.
    void remember(std::map<std::string, Score> const& scores, bool frozen);

    /// Who does the next call; `candidates` is not empty, the rule's choice first. Cost:
    /// O(candidates^2), some 10; `elsewhere` is asked only while some have not been tried.
    Choice choose(std::span<Candidate const> candidates, PriorSlowdown const& prior_slowdown);

    /// How long that call took, seconds > 0.
    void learn(Candidate const& candidate, double bytes, double seconds);
    /// A candidate turned out not to be able to do such calls.
    void refuse(Candidate const& candidate);

    /// How much slower than the best it has been here, as a logarithm; nothing if it was not tried.
    [[nodiscard]] std::optional<double> slower_than_best(Candidate const& candidate) const;

    [[nodiscard]] Explanation explain() const;

    /// There is something that earlier runs did not know: worth being written.
    [[nodiscard]] bool has_unsaved() const;
    /// What has been measured since the last time, by name.
    std::map<std::string, Score> take_unsaved();
    /// What was remembered turned out wrong since the last time: what is unsaved replaces it.
    [[nodiscard]] bool take_memory_wrong() { return std::exchange(memory_wrong_, false); }

private:
    struct Arm {
        Candidate candidate;
        Score before{};                 // of earlier runs
        Score own{};                    // of this one
        double level = 0;               // of own.mean, but no single call moves it far
        std::uint32_t handed_over = 0;  // calls of `own`, by take_unsaved
        bool refused = false;
        std::optional<double> slower{};  // than the winner when all was opened again; a logarithm
        bool can = true;                 // do the latest call

        [[nodiscard]] Score const& known() const { return own.calls > 0 ? own : before; }
        void add(double speed);
    };

    Arm& arm(Candidate const& candidate);
    [[nodiscard]] Arm const* find(Candidate const& candidate) const;
    [[nodiscard]] Arm const* best() const;
    [[nodiscard]] double mean_of(Arm const& arm) const;
    [[nodiscard]] bool worth_trying(Arm const& arm, Arm const& best) const;
    [[nodiscard]] bool may_be_faster(Arm const& arm, Arm const& best) const;
    static double worst_case_extra_s(Candidate const& candidate, double best_s,
                                     std::optional<double> slower);
    [[nodiscard]] bool affordable(double extra_s, double best_s) const;
    static Candidate const& first_of(std::span<Candidate const> candidates,
                                     PriorSlowdown const& prior_slowdown);
    Candidate const* next_to_try(std::span<Candidate const> candidates, Arm const& best,
                                 PriorSlowdown const& prior_slowdown);
    void find_shift();
    void verify(Arm const& best);
    bool note_drift(Arm& winner, double speed);
    void reopen(std::string why);

    Budget budget_;
    std::deque<Arm> arms_;  // stay where they are
    std::map<std::string, Score> memory_;
    bool frozen_ = false;
    bool memory_wrong_ = false;
    std::uint64_t calls_ = 0;
    double bytes_ = 0;  // of the latest call
    double total_s_ = 0;
    double tried_s_ = 0;  // what calls took longer than the best candidate would have
    double shift_ = 0;    // this run's speeds against earlier ones': mean over candidates with both
    double slower_ = 0;   // cumulative sums
    double faster_ = 0;
    std::vector<Explanation::Reopened> reopened_;
};

}  // namespace unisono
