#pragma once

#include <array>
#include <cstdint>

#include "model/time.hpp"

namespace unisono::testbed {

/// How much later than modelled answers were begun: counts per microsecond. What copying an answer
/// into the program's memory takes is the program's own work, as on a real client. Not thread-safe.
class Lateness {
public:
    void add(Time late) {
        auto const us = late <= 0 ? 0 : static_cast<std::size_t>(late / microsecond);
        ++counts_[us < counts_.size() ? us : counts_.size() - 1];
        ++total_;
        if (late > longest_) longest_ = late;
    }

    void add(Lateness const& other) {
        for (std::size_t us = 0; us < counts_.size(); ++us) counts_[us] += other.counts_[us];
        total_ += other.total_;
        if (other.longest_ > longest_) longest_ = other.longest_;
    }

    /// The lateness in microseconds that `share` of the requests do not exceed; 0 without any.
    [[nodiscard]] std::uint64_t quantile_us(double share) const {
        auto left = static_cast<double>(total_) * share;
        for (std::size_t us = 0; us < counts_.size(); ++us) {
            left -= static_cast<double>(counts_[us]);
            if (left <= 0) return total_ == 0 ? 0 : us;
        }
        return counts_.size();
    }

    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] Time longest() const { return longest_; }

private:
    std::array<std::uint64_t, 20'000> counts_{};
    std::uint64_t total_ = 0;
    Time longest_ = 0;
};

}  // namespace unisono::testbed
