#pragma once

#include <chrono>

namespace unisono {

template <class Clock>
double seconds_of() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Seconds since whenever, of a clock that never steps.
inline double steady_clock_s() { return seconds_of<std::chrono::steady_clock>(); }

/// Seconds since 1970.
inline double wall_clock_s() { return seconds_of<std::chrono::system_clock>(); }

}  // namespace unisono
