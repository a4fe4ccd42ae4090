#pragma once

#include <algorithm>
#include <cstdint>

namespace unisono {

/// File bytes [begin, end), end exclusive. Empty when end <= begin.
struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] constexpr bool empty() const { return end <= begin; }
    [[nodiscard]] constexpr std::uint64_t bytes() const { return empty() ? 0 : end - begin; }
    friend constexpr bool operator==(Extent const&, Extent const&) = default;
};

constexpr Extent intersect(Extent a, Extent b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The smallest extent that has both.
constexpr Extent hull(Extent a, Extent b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

constexpr std::uint64_t div_ceil(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }
constexpr std::uint64_t round_down(std::uint64_t a, std::uint64_t unit) { return a - a % unit; }
constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t unit) {
    return div_ceil(a, unit) * unit;
}

enum class Direction : std::uint8_t { read, write };

}  // namespace unisono
