#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

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
    /// The best one, second best one, and so on of the last `most`.
    [[nodiscard]] double best(std::size_t which) const {
        auto sorted = s_per_byte_;
        std::sort(sorted.begin(),
                  sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, most)));
        return sorted[which];
    }

private:
    std::array<double, most> s_per_byte_{};
    std::size_t seen_ = 0;
};

}  // namespace unisono
