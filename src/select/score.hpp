#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace unisono {

/// How fast a candidate has been: logarithms of bytes per second, so that ratios are differences.
struct Score {
    std::uint32_t calls = 0;
    double mean = 0;
    double squares = 0;  ///< sum of squared differences from the mean

    void add(double log_speed) {
        // The first call of a strategy also sets things up: a faster second one takes its place.
        if (calls == 1) mean = std::max(mean, log_speed);
        ++calls;
        constexpr std::uint32_t memory_calls = 50;  // older ones fade
        auto const difference = log_speed - mean;
        mean += difference / std::min(calls, memory_calls);
        squares += difference * (log_speed - mean);
    }

    /// Takes in what a later run has measured. What was known counts as 20 calls at most.
    void take_in(Score const& later) {
        constexpr std::uint32_t old_calls_most = 20;
        if (later.calls == 0) return;
        auto const variance =
            (calls * deviation_squared() + later.calls * later.deviation_squared()) /
            (calls + later.calls);
        auto const old = static_cast<double>(std::min(calls, old_calls_most));
        mean = (old * mean + later.calls * later.mean) / (old + later.calls);
        calls = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{calls} + later.calls, 1'000'000));
        squares = variance * (calls - 1);
    }

    /// Of single calls; 0 for fewer than two.
    [[nodiscard]] double deviation_squared() const { return calls < 2 ? 0 : squares / (calls - 1); }

    /// Half of an interval that holds the true mean in most cases; a call varies by 5 % at least.
    [[nodiscard]] double uncertainty() const {
        if (calls == 0) return 0;
        auto const variance = calls < 2 ? 0.01 : std::max(deviation_squared(), 0.0025);
        return 2 * std::sqrt(variance / calls);
    }

    friend bool operator==(Score const&, Score const&) = default;
};

}  // namespace unisono
