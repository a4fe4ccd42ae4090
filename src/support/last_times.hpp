#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace unisono {

/// What the last few accesses of one kind took, in seconds a byte.
class LastTimes {
public:
    static constexpr std::size_t most = 4;

    void note(std::uint64_t bytes, double seconds) {
        s_per_byte_[seen_++ % most] = seconds / static_cast<double>(bytes);
    }
    /// Of all time.
    [[nodiscard]] std::size_t seen() const { return seen_; }
    /// The best one, second best one, and so on of the last `most`; infinite where there is none
    /// yet.
    [[nodiscard]] double best(std::size_t which) const {
        auto sorted = s_per_byte_;
        std::ranges::sort(sorted);
        return sorted[which];
    }

private:
    static constexpr auto none = std::numeric_limits<double>::infinity();
    std::array<double, most> s_per_byte_{none, none, none, none};
    std::size_t seen_ = 0;
};

}  // namespace unisono
