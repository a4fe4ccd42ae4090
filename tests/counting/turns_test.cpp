#include <gtest/gtest.h>

#include <chrono>

#include "counted_call.hpp"
#include "strategies/all.hpp"

namespace unisono {
namespace {

// 16 ranks with one block each on one server: a chain. Rank 15 cannot begin before 15 delays.
TEST(Turns, delays_of_processes_that_wait_for_each_other_add_up) {
    Scene scene{.topology = make_topology(std::vector<std::uint32_t>(16, 0)),
                .layout = round_robin_layout(4096, 1)};
    std::vector<std::uint64_t> first(16);
    for (std::size_t rank = 0; rank < first.size(); ++rank) first[rank] = rank;
    scene.requests = block_requests(4096, first, 1, 1);
    SceneFacts const known{scene};
    auto const plan = resonant.plan(known.facts, scene.options);
    ASSERT_EQ(plan.waits_for[15], 14u);
    ASSERT_GT(plan.delay_s, 0);

    auto const begin = std::chrono::steady_clock::now();
    auto const call = count_call(scene, "resonant");
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    EXPECT_EQ(call.lists.size(), 16u);
    EXPECT_GE(seconds.count(), 15 * plan.delay_s);
    for (std::size_t rank = 1; rank < 16; ++rank)
        EXPECT_GE(call.records[rank][Phase::waiting], plan.delay_s);
}

}  // namespace
}  // namespace unisono
