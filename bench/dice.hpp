#pragma once

#include <cstdint>

namespace bench {

/// Small reproducible generator (xorshift64*): equal streams throw equal numbers everywhere.
class Dice {
public:
    explicit Dice(int stream = 0)
        : state_(0x853c49e6748fea9bu ^ (static_cast<std::uint64_t>(stream) * 0x9e3779b97f4a7c15u)) {
    }

    std::uint64_t below(std::uint64_t limit) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return ((state_ * 0x2545f4914f6cdd1du) >> 33) % limit;
    }

private:
    std::uint64_t state_;
};

}  // namespace bench
