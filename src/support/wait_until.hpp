/// Waits for what another rank does in shared memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace unisono {

/// Looks 64 times, then calls `idle()`, which gives up the core, before each further look. With
/// `may_sleep` a wait that has taken 20 ms also sleeps, a 200th of what it has taken and at most
/// 1 ms at a time: where ranks have no core each, Linux 6.18 lets others starve beside ranks that
/// yield, among them the kernel's threads that the awaited rank's I/O needs. A rank that others
/// may send messages to must not sleep.
template <class Arrived, class Idle>
void wait_until(Arrived const& arrived, Idle const& idle, bool may_sleep) {
    using namespace std::chrono_literals;
    using Clock = std::chrono::steady_clock;
    constexpr int looks = 64;
    for (int look = 0; look < looks; ++look)
        if (arrived()) return;
    auto const began = Clock::now();
    while (!arrived()) {
        idle();
        auto const waited = Clock::now() - began;
        if (may_sleep && waited > 20ms)
            std::this_thread::sleep_for(std::min<Clock::duration>(waited / 200, 1ms));
    }
}

}  // namespace unisono
