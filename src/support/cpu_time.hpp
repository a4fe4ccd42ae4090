#pragma once

#include <ctime>

namespace unisono {

/// Test equipment: seconds that this thread has computed so far. Unlike time, they do not pass
/// while a busy machine does something else.
inline double cpu_seconds() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace unisono
