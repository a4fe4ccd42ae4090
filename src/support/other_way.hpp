#pragma once

#include <cstdint>
#include <mutex>

#include "support/last_times.hpp"

namespace unisono {

/// Whether another way of doing the same is faster than the usual one, as was seen: it is tried a
/// few times, and what is not used once in a while, as things may change. Thread-safe. Ours.
class OtherWay {
public:
    /// Whether to go it this time. It is faster if it takes less than `clearly` of the usual time.
    [[nodiscard]] bool is_next(double clearly) const {
        constexpr std::size_t again = 64;
        std::lock_guard const lock{mutex_};
        if (other_.seen() < tries) return usual_.seen() > other_.seen();
        return ((usual_.seen() + other_.seen()) % again == 0) != other_is_faster(clearly);
    }
    [[nodiscard]] bool is_faster(double clearly) const {
        std::lock_guard const lock{mutex_};
        return other_is_faster(clearly);
    }

    void note(bool other, std::uint64_t bytes, double seconds) {
        std::lock_guard const lock{mutex_};
        (other ? other_ : usual_).note(bytes, seconds);
    }

private:
    static constexpr std::size_t tries = 3;

    [[nodiscard]] bool other_is_faster(double clearly) const {
        return other_.seen() >= tries && other_.best(0) < clearly * usual_.best(0);
    }

    mutable std::mutex mutex_;
    LastTimes usual_;
    LastTimes other_;
};

}  // namespace unisono
