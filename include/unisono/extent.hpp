#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace unisono {

/// Numbers [begin, end), end exclusive. Empty when end <= begin. `Of` names what is counted, so
/// that intervals of different things do not mix: what turns one into another is a function with a
/// name.
template <class Of>
struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] constexpr bool empty() const { return end <= begin; }
    [[nodiscard]] constexpr std::uint64_t bytes() const { return empty() ? 0 : end - begin; }
    friend constexpr bool operator==(Interval const&, Interval const&) = default;
};

template <class Of>
constexpr Interval<Of> intersect(Interval<Of> a, Interval<Of> b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The smallest interval that has both.
template <class Of>
constexpr Interval<Of> hull(Interval<Of> a, Interval<Of> b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// File bytes.
using Extent = Interval<struct OfFile>;

constexpr std::uint64_t div_ceil(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }
constexpr std::uint64_t round_down(std::uint64_t a, std::uint64_t unit) { return a - a % unit; }
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t unit) {
    return div_ceil(a, unit) * unit;
}

enum class Direction : std::uint8_t { read, write };

/// One value for each direction.
template <class Value>
class ByDirection {
public:
    [[nodiscard]] constexpr Value& operator[](Direction direction) {
        return values_[static_cast<std::size_t>(direction)];
    }
    [[nodiscard]] constexpr Value const& operator[](Direction direction) const {
        return values_[static_cast<std::size_t>(direction)];
    }

private:
    std::array<Value, 2> values_{};
};

}  // namespace unisono
