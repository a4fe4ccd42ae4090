#include <gtest/gtest.h>

#include <chrono>

#include "counted_call.hpp"
#include "strategies/all.hpp"

namespace unisono {
namespace {

// 16 ranks with a block on each of two servers: two at a time, rank i after rank i - 2. Rank 15
// cannot begin before 7 delays.
TEST(Turns, delays_of_processes_that_wait_for_each_other_add_up) {
    Scene scene{.topology = make_topology(std::vector<std::uint32_t>(16, 0)),
                .layout = round_robin_layout(4096, 2)};
    std::vector<std::uint64_t> first(16);
    for (std::size_t rank = 0; rank < first.size(); ++rank) first[rank] = 2 * rank;
    scene.requests = block_requests(4096, first, 2, 1);
    SceneFacts const known{scene};
    auto const plan = resonant.plan(known.facts, scene.options);
    ASSERT_EQ(plan.waits_for[15], 13u);
    ASSERT_GT(plan.delay_s, 0);

    auto const begin = std::chrono::steady_clock::now();
    auto const call = count_call(scene, "resonant");
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    EXPECT_EQ(call.lists.size(), 16u);
    EXPECT_GE(seconds.count(), 7 * plan.delay_s);
    for (std::size_t rank = 2; rank < 16; ++rank)
        EXPECT_GE(call.records[rank][Phase::waiting], plan.delay_s);
}

}  // namespace
}  // namespace unisono
