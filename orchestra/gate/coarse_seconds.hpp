#pragma once

#include <cstdint>
#include <ctime>

namespace unisono::orchestra {

/// For what is done once a second at most. Cost: a few nanoseconds; says when a kernel's tick was,
/// on CLOCK_MONOTONIC.
inline std::int64_t coarse_seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

}  // namespace unisono::orchestra
