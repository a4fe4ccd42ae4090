#pragma once

#include <cstdint>
#include <limits>

namespace unisono::orchestra {

/// Nanoseconds since an origin that the user chooses; nothing here reads a clock.
using Time = std::int64_t;

inline constexpr Time never = std::numeric_limits<Time>::max();
inline constexpr Time millisecond = 1'000'000;
inline constexpr Time second = 1'000'000'000;

inline double to_ms(Time time) { return static_cast<double>(time) / 1e6; }
inline Time from_ms(double ms) { return static_cast<Time>(ms * 1e6); }

}  // namespace unisono::orchestra
