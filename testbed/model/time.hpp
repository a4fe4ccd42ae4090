#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace unisono::testbed {

/// Nanoseconds of the virtual clock since an origin that the user of the model chooses.
using Time = std::int64_t;

inline constexpr Time never = std::numeric_limits<Time>::max();
inline constexpr Time microsecond = 1'000;
inline constexpr Time millisecond = 1'000'000;
inline constexpr Time second = 1'000'000'000;

/// Rounds up, so that nothing is over before it can be.
inline Time from_ns(double ns) { return static_cast<Time>(std::ceil(ns)); }
inline Time from_us(double us) { return from_ns(us * 1e3); }
inline Time from_ms(double ms) { return from_ns(ms * 1e6); }

/// How long `bytes` take at `mb_s` (10^6 bytes per second); 0 is infinitely fast.
inline Time transfer_time(std::uint64_t bytes, double mb_s) {
    return mb_s > 0 ? from_ns(static_cast<double>(bytes) * 1e3 / mb_s) : 0;
}

}  // namespace unisono::testbed
