#include "support/wait_until.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

namespace unisono {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Looks from 30 ms after the beginning of a wait of 60 ms on.
int late_looks(bool may_sleep) {
    auto const began = Clock::now();
    int late = 0;
    auto const arrived = [&] {
        auto const waited = Clock::now() - began;
        if (waited > 30ms) ++late;
        return waited > 60ms;
    };
    wait_until(
        arrived, [] {}, may_sleep);
    return late;
}

TEST(WaitUntil, what_has_come_needs_no_idling) {
    wait_until([] { return true; }, [] { FAIL(); }, true);
}

TEST(WaitUntil, ranks_that_wait_for_long_starved_what_the_others_wait_for) {
    EXPECT_LE(late_looks(true), 30ms / 100us + 1);
}

// The looks of a machine that has other things to do are as few.
TEST(WaitUntil, who_must_not_sleep_does_not) {
    auto const times_asleep = [] {
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_nvcsw;
    };
    auto const before = times_asleep();
    late_looks(false);
    EXPECT_LT(times_asleep() - before, 10);
}

}  // namespace
}  // namespace unisono
