#include "orchestra/eligibility.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

namespace unisono::orchestra {

namespace {

constexpr double dispersion_limit = 0.2;
constexpr double ratio_min = 1.5;

double sum(std::span<double const> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(std::span<double const> values) {
    return values.empty() ? 0 : sum(values) / static_cast<double>(values.size());
}

double dispersion(std::span<double const> values) {
    auto const middle = mean(values);
    double squares = 0;
    for (double const value : values) squares += (value - middle) * (value - middle);
    if (squares == 0) return 0;
    return std::sqrt(squares / static_cast<double>(values.size())) / middle;
}

double ratio_of(double all, double own) {
    if (own > 0) return all / own;
    return all > 0 ? std::numeric_limits<double>::infinity() : 1;
}

}  // namespace

EligibilityConditions check_conditions(LocalityFacts const& facts) {
    EligibilityConditions result{.all_dispersion = dispersion(facts.all_gaps),
                                 .own_dispersion = dispersion(facts.own_gaps),
                                 .ratio = ratio_of(sum(facts.all_gaps), sum(facts.own_gaps)),
                                 .reuse_ms = mean(facts.reuse_ms),
                                 .seek_ms = mean(facts.seek_ms)};
    result.consistent =
        result.all_dispersion < dispersion_limit && result.own_dispersion < dispersion_limit;
    result.local = result.ratio >= ratio_min;
    result.worth = facts.reuse_ms.empty() || result.reuse_ms <= result.seek_ms;
    return result;
}

std::string describe(EligibilityConditions const& eligibility) {
    char text[160];
    if (!eligibility.consistent) {
        std::snprintf(text, sizeof text,
                      "1: differs between servers by %.0f %% (all), %.0f %% (own); limit 20 %%",
                      100 * eligibility.all_dispersion, 100 * eligibility.own_dispersion);
    } else if (!eligibility.local) {
        std::snprintf(text, sizeof text, "2: alone only %.2f times as local; limit 1.5",
                      eligibility.ratio);
    } else if (!eligibility.worth) {
        std::snprintf(text, sizeof text, "3: reuse distance %.2f ms above seek time %.2f ms",
                      eligibility.reuse_ms, eligibility.seek_ms);
    } else {
        return "eligible";
    }
    return text;
}

}  // namespace unisono::orchestra
