#include "orchestra/policies/payoff.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

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

double sum_of(std::vector<double> const& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

bool differ(Payoff::Rate const& a, Payoff::Rate const& b) {
    return std::max(a.mb_s(), b.mb_s()) > change_of_programs * std::min(a.mb_s(), b.mb_s());
}

}  // namespace

void Payoff::Rate::add(double more_bytes, double more_ms) {
    bytes = kept * bytes + more_bytes;
    ms = kept * ms + more_ms;
    ++windows;
}

void Payoff::observe(Report const& report, std::vector<ProgramReport const*> const& programs) {
    std::string names;
    std::vector<double> bytes;
    for (auto const* program : programs) {
        names.append(program->id).push_back('\n');
        bytes.push_back(0);
        for (auto const& server : program->servers) bytes.back() += server.bytes;
    }
    bool const all_moved = names == programs_ && std::ranges::equal(bytes_, bytes, std::less<>());
    if (rates_.size() > sets_max) rates_.clear();
    auto& rates = rates_[names];
    if (all_moved && report.now_ms > now_ms_) {
        Rate window;
        window.add(sum_of(bytes) - sum_of(bytes_), report.now_ms - now_ms_);
        if (turns_ && rates.with.windows > 0 && !rates.changed && differ(window, rates.with)) {
            rates.with = {.windows = 1};
            rates.changed = rates.outdated = true;
        }
        (turns_ ? rates.with : rates.without).add(window.bytes, window.ms);
    }
    programs_ = std::move(names);
    bytes_ = std::move(bytes);
    now_ms_ = report.now_ms;
}

bool Payoff::turns_cost() const {
    if (!knows_without() || with().windows < windows_clear) return false;
    bool const steady = with().windows >= windows_steady;
    return with().mb_s() < without().mb_s() * (steady ? gain_steady : gain_clear);
}

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
