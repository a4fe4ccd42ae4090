#pragma once

#include <algorithm>
#include <cstdint>

namespace unisono::orchestra {

/// The paper's mean (iorchestrator-sc10, section III.B): the newest sample weighs 7/8, all before
/// it 1/8. The first sample is taken as it is: the paper does not say what SL(0) was.
class NewestHeavyMean {
public:
    void add(double sample) {
        value_ = count_ == 0 ? sample : value_ / 8 + sample * 7 / 8;
        ++count_;
    }
    [[nodiscard]] double value() const { return value_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    double value_ = 0;
    std::uint64_t count_ = 0;
};

/// The plain mean of up to `memory` samples; from then on each new one weighs 1/memory. It does not
/// flap where one request in five goes astray, and still follows a program that changes.
class SteadyMean {
public:
    static constexpr std::uint64_t memory = 64;

    void add(double sample) {
        ++count_;
        value_ += (sample - value_) / static_cast<double>(std::min(count_, memory));
    }
    [[nodiscard]] double value() const { return value_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    double value_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace unisono::orchestra
