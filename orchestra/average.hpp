#pragma once

#include <algorithm>
#include <cstdint>

namespace unisono::orchestra {

/// A mean in which the newest sample weighs `newest` / 8, and all before it the rest. The first
/// sample is taken as it is: the paper does not say what SL(0) was.
template <int newest>
class EighthsMean {
public:
    void add(double sample) {
        value_ = count_ == 0 ? sample : value_ * (8 - newest) / 8 + sample * newest / 8;
        ++count_;
    }
    [[nodiscard]] double value() const { return value_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    double value_ = 0;
    std::uint64_t count_ = 0;
};

/// The paper's mean as it is written (iorchestrator-sc10, section III.B).
using NewestHeavyMean = EighthsMean<7>;
/// That of Linux (block/cfq-iosched.c, 2.6.28.5), which the paper says its own is similar to; but
/// also that it gives recent samples greater weight.
using NewestLightMean = EighthsMean<1>;

/// Both readings of the paper's mean, of the same samples.
class PapersMean {
public:
    void add(double sample) {
        as_written_.add(sample);
        as_linux_.add(sample);
    }
    [[nodiscard]] double as_written() const { return as_written_.value(); }
    [[nodiscard]] double as_linux() const { return as_linux_.value(); }
    [[nodiscard]] std::uint64_t count() const { return as_written_.count(); }

private:
    NewestHeavyMean as_written_;
    NewestLightMean as_linux_;
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
