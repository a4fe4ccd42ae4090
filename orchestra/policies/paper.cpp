// IOrchestrator as it is written (iorchestrator-sc10, section III.C). Once per window each program
// is checked against the three conditions, on the latest values; the eligible ones and the pool of
// all others share the window, slice_o = W * (1/RD_o) / sum(1/RD). The third condition is checked
// for those that had dedicated service in the window before. Where the text is silent: a program
// counts if it wanted something within two windows; an object whose reuse distance is not known yet
// has the mean weight of the others; the pool has no slice while nobody in it wants anything; RD is
// the mean of the servers that have seen one, between two admissions, so requests that were held
// together count as close; the statistics travel once per window; programs are known by their job
// and not by their files.
//
// The paper's mean gives 7/8 to the newest sample, "giving recent statistics greater weight", and
// is "similar to the one developed in Linux", where that is 1/8: both readings are here, as
// policies of their own. A third one is about SL_i, the locality "for all programs" (section
// III.B): while slices keep the programs apart it says nothing of what they would be together, and
// the conditions, read literally, take the slices away again; the paper's figure 3 has them go on.
// There SL_i stays as it was when all were served together.
#include <numeric>
#include <set>

#include "orchestra/eligibility.hpp"
#include "orchestra/policies/slices.hpp"
#include "orchestra/policy.hpp"

namespace unisono::orchestra {

namespace {

double mean_of(std::vector<double> const& values) {
    return values.empty() ? 0
                          : std::accumulate(values.begin(), values.end(), 0.0) /
                                static_cast<double>(values.size());
}

// Which of the means counts.
struct Reading {
    double ServerPart::*own_gap;
    double ServerPart::*own_reuse;
    std::vector<double> Report::*all_gaps;
    std::vector<double> Report::*pool_reuse;
    bool keeps_all_gaps = false;  // SL_i is not renewed while there are slices
};

constexpr Reading as_written{&ServerPart::gap_sectors, &ServerPart::reuse_ms, &Report::gap_sectors,
                             &Report::pool_reuse_ms};
constexpr Reading as_linux{&ServerPart::gap_sectors_linux, &ServerPart::reuse_ms_linux,
                           &Report::gap_sectors_linux, &Report::pool_reuse_ms_linux};
constexpr Reading as_linux_kept{&ServerPart::gap_sectors_linux, &ServerPart::reuse_ms_linux,
                                &Report::gap_sectors_linux, &Report::pool_reuse_ms_linux, true};

// 1/RD; for those that are not known (0) the mean of the others, or 1.
std::vector<double> weights_of(std::vector<double> const& reuse_ms) {
    std::vector<double> known;
    for (double const ms : reuse_ms)
        if (ms > 0) known.push_back(1 / ms);
    double const rest = known.empty() ? 1 : mean_of(known);
    std::vector<double> weights;
    weights.reserve(reuse_ms.size());
    for (double const ms : reuse_ms) weights.push_back(ms > 0 ? 1 / ms : rest);
    return weights;
}

class PaperPolicy final : public Policy {
public:
    PaperPolicy(PolicySettings const& settings, Reading const& reading)
        : window_(settings.window.value_or(500 * millisecond)),
          seek_(settings.seek),
          reading_(reading) {}

    Decision decide(Report const& report) override {
        Decision decision{.window = window_};
        if (granted_.empty() || !reading_.keeps_all_gaps) all_gaps_ = report.*reading_.all_gaps;
        std::vector<double> reuse_ms;
        bool pool = false;
        for (auto const* program : wanting(report, 2 * window_)) {
            auto const eligibility = check(*program);
            decision.eligibilities.push_back(
                {program->id, eligibility.eligible(), describe(eligibility)});
            if (!eligibility.eligible()) {
                pool = true;
                continue;
            }
            decision.objects.push_back({.programs = {program->id}});
            reuse_ms.push_back(mean_of(reuse_of(*program)));
        }
        granted_.clear();
        for (auto const& object : decision.objects) granted_.insert(object.programs.front());
        if (pool && !decision.objects.empty()) {
            decision.objects.emplace_back();
            reuse_ms.push_back(mean_of(reuse_of_pool(report)));
        }
        auto const slices = proportional_slices(window_, weights_of(reuse_ms));
        for (std::size_t i = 0; i < slices.size(); ++i) decision.objects[i].slice = slices[i];
        return decision;
    }

private:
    // RD_ij where there is one.
    [[nodiscard]] std::vector<double> reuse_of(ProgramReport const& program) const {
        std::vector<double> reuse_ms;
        for (auto const& server : program.servers)
            if (server.reuse_samples > 0) reuse_ms.push_back(server.*reading_.own_reuse);
        return reuse_ms;
    }

    [[nodiscard]] std::vector<double> reuse_of_pool(Report const& report) const {
        std::vector<double> reuse_ms;
        for (std::size_t i = 0; i < report.pool_reuse_samples.size(); ++i)
            if (report.pool_reuse_samples[i] > 0)
                reuse_ms.push_back((report.*reading_.pool_reuse)[i]);
        return reuse_ms;
    }

    [[nodiscard]] EligibilityConditions check(ProgramReport const& program) const {
        std::vector<double> own;
        for (auto const& server : program.servers) own.push_back(server.*reading_.own_gap);
        std::vector<double> seek_ms;
        seek_ms.reserve(all_gaps_.size());
        for (double const gap : all_gaps_) seek_ms.push_back(seek_.at_ms(gap));
        auto const reuse_ms =
            granted_.contains(program.id) ? reuse_of(program) : std::vector<double>{};
        return check_conditions(
            {.all_gaps = all_gaps_, .own_gaps = own, .reuse_ms = reuse_ms, .seek_ms = seek_ms});
    }

    Time window_;
    SeekProfile seek_;
    Reading const& reading_;
    std::vector<double> all_gaps_;   // SL_i
    std::set<std::string> granted_;  // in the last window
};

}  // namespace

std::unique_ptr<Policy> make_paper_policy(PolicySettings const& settings) {
    return std::make_unique<PaperPolicy>(settings, as_written);
}

std::unique_ptr<Policy> make_paper_linux_policy(PolicySettings const& settings) {
    return std::make_unique<PaperPolicy>(settings, as_linux);
}

std::unique_ptr<Policy> make_paper_kept_policy(PolicySettings const& settings) {
    return std::make_unique<PaperPolicy>(settings, as_linux_kept);
}

}  // namespace unisono::orchestra
