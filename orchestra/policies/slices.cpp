#include "orchestra/policies/slices.hpp"

#include <algorithm>
#include <numeric>

namespace unisono::orchestra {

namespace {

class MemorylessPolicy final : public Policy {
public:
    MemorylessPolicy(Decision (*decide)(Report const&, Time), Time window)
        : decide_{decide}, window_{window} {}

    Decision decide(Report const& report) override { return decide_(report, window_); }

private:
    Decision (*decide_)(Report const&, Time);
    Time window_;
};

}  // namespace

std::vector<Time> proportional_slices(Time window, std::vector<double> const& weights) {
    auto const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<Time> slices;
    slices.reserve(weights.size());
    for (double const weight : weights)
        slices.push_back(std::max<Time>(
            millisecond, static_cast<Time>(static_cast<double>(window) * weight / sum)));
    return slices;
}

std::vector<Time> bounded_slices(Time window, std::vector<double> const& weights, Time least,
                                 Time most) {
    auto const count = static_cast<Time>(weights.size());
    if (count == 0) return {};
    if (least * count >= window || most * count <= window)
        return std::vector<Time>(weights.size(), std::max(window / count, millisecond));
    // With a factor that is too small the slices do not fill the window, with one too large they
    // exceed it: bisected, which needs no cases.
    auto const fill = [&](double factor) {
        std::vector<Time> slices;
        slices.reserve(weights.size());
        for (double const weight : weights)
            slices.push_back(static_cast<Time>(std::clamp(
                factor * weight, static_cast<double>(least), static_cast<double>(most))));
        return slices;
    };
    double low = 0;
    double high = static_cast<double>(window) / std::ranges::min(weights);
    for (int step = 0; step < 200; ++step) {
        double const middle = (low + high) / 2;
        auto const slices = fill(middle);
        (std::accumulate(slices.begin(), slices.end(), Time{0}) < window ? low : high) = middle;
    }
    return fill(high);
}

std::vector<ProgramReport const*> wanting(Report const& report, Time recent) {
    std::vector<ProgramReport const*> programs;
    for (auto const& program : report.programs)
        if (program.idle_ms <= to_ms(recent)) programs.push_back(&program);
    std::ranges::sort(programs, {}, &ProgramReport::id);
    return programs;
}

MeasuredMean mean_over_servers(ProgramReport const& program, double ServerPart::*value,
                               double ServerPart::*samples, double samples_min) {
    MeasuredMean mean;
    for (auto const& server : program.servers) {
        if (server.*samples < samples_min) continue;
        mean.ms += server.*value;
        ++mean.servers;
    }
    if (mean.servers > 0) mean.ms /= static_cast<double>(mean.servers);
    return mean;
}

std::unique_ptr<Policy> make_memoryless_policy(Decision (*decide)(Report const&, Time),
                                               PolicySettings const& settings) {
    return std::make_unique<MemorylessPolicy>(decide, settings.window.value_or(500 * millisecond));
}

}  // namespace unisono::orchestra
