#include "orchestra/policies/payoff.hpp"

#include <algorithm>

namespace unisono::orchestra {

namespace {

constexpr std::size_t sets_max = 64;
constexpr double kept = 7.0 / 8;
// Windows that it takes, and what turns must bring then.
constexpr int windows_clear = 2;
constexpr double gain_clear = 0.85;
constexpr int windows_steady = 8;
constexpr double gain_steady = 1.02;
// Faster or slower by that much, with turns as before: not by longer slices, as they are three
// switches long at least. Programs are up to something else.
constexpr double change_of_programs = 2;
// Who gets less than that gets nothing.
constexpr double least_mb_s = 0.01;

Payoff::Shares seen_of(ProgramReport const& program) {
    Payoff::Shares seen{.under_way = program.under_way};
    for (auto const& server : program.servers) {
        seen.bytes += server.bytes;
        seen.requests += server.requests;
    }
    return seen;
}

bool differ(Payoff::Rate const& a, Payoff::Rate const& b) {
    return std::max(a.mb_s(), b.mb_s()) > change_of_programs * std::min(a.mb_s(), b.mb_s());
}

// Of what was let in: what has come to an end meanwhile, with `more` under way than before.
double share_done(double let_in, double more) {
    return let_in > 0 ? std::max(0.0, 1 - more / let_in) : 1;
}

}  // namespace

double Payoff::Rate::mb_s() const {
    double sum = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) sum += mb_s_of(i);
    return sum;
}

double Payoff::Rate::mb_s_of(std::size_t program) const {
    return program < programs.size() && ms > 0 ? programs[program].bytes / ms / 1e3 : 0;
}

double Payoff::Rate::stay_ms_of(std::size_t program) const {
    if (program >= programs.size() || windows == 0) return 0;
    auto const& its = programs[program];
    return its.under_way * (ms / weighted_windows) / std::max(its.requests, 1.0);
}

void Payoff::Rate::add(std::vector<Shares> const& more, double more_ms) {
    programs.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) {
        programs[i].bytes = kept * programs[i].bytes + more[i].bytes;
        programs[i].requests = kept * programs[i].requests + more[i].requests;
        programs[i].under_way = kept * programs[i].under_way + more[i].under_way;
    }
    ms = kept * ms + more_ms;
    weighted_windows = kept * weighted_windows + 1;
    ++windows;
}

void Payoff::observe(Report const& report, std::vector<ProgramReport const*> const& programs) {
    std::string names;
    std::vector<Shares> seen;
    for (auto const* program : programs) {
        names.append(program->id).push_back('\n');
        seen.push_back(seen_of(*program));
    }
    auto more = seen;
    bool all_took_part = names == programs_;
    for (std::size_t i = 0; i < seen.size() && all_took_part; ++i) {
        more[i].bytes -= seen_[i].bytes;
        more[i].requests -= seen_[i].requests;
        more[i].bytes *= share_done(more[i].requests, seen[i].under_way - seen_[i].under_way);
        all_took_part = more[i].bytes > 0 || more[i].under_way > 0;
    }
    if (rates_.size() > sets_max) rates_.clear();
    auto& rates = rates_[names];
    if (all_took_part && report.now_ms > now_ms_) {
        Rate window;
        window.add(more, report.now_ms - now_ms_);
        if (turns_ && rates.with.windows > 0 && !rates.changed && differ(window, rates.with)) {
            rates.with = {.windows = 1};
            rates.changed = rates.outdated = true;
        }
        (turns_ ? rates.with : rates.without).add(window.programs, window.ms);
    }
    programs_ = std::move(names);
    seen_ = std::move(seen);
    now_ms_ = report.now_ms;
}

double Payoff::gain_of(std::size_t program) const {
    if (!knows_without() || with().windows == 0) return 1;
    auto const without_mb_s = std::max(without().mb_s_of(program), least_mb_s);
    return with().mb_s_of(program) / without_mb_s;
}

bool Payoff::turns_cost() const {
    if (!knows_without() || with().windows < windows_clear) return false;
    bool const steady = with().windows >= windows_steady;
    return with().mb_s() < without().mb_s() * (steady ? gain_steady : gain_clear);
}

bool Payoff::turns_pay() const { return with().mb_s() > without().mb_s() * gain_steady; }

bool Payoff::knows_without() const { return without().windows >= windows_clear; }

bool Payoff::needs_a_look() const {
    return with().windows >= windows_clear && (!knows_without() || rates_.at(programs_).outdated);
}

void Payoff::forget_turns() {
    auto& rates = rates_[programs_];
    rates.with = {};
    rates.changed = false;
}

void Payoff::forget_without() {
    auto& rates = rates_[programs_];
    rates.without = {};
    rates.outdated = false;
}

}  // namespace unisono::orchestra
