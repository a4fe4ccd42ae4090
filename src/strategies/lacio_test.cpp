#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

Scene with_aggregators(Scene scene, std::uint32_t count) {
    scene.options.cb_nodes = count;
    return scene;
}

// Figures 4 and 5a: LB# 0 4 8 on S# 0 and so on, one server each, physically contiguous.
TEST(Lacio, one_to_one_every_aggregator_has_one_server) {
    auto const scene = lacio_figure_3();
    EXPECT_EQ(show_aggregators(plan_for(lacio, scene), scene.layout, block),
              "a0 rank 0: blocks 0 4 8 servers 0 0 0\n"
              "a1 rank 1: blocks 1 5 9 servers 1 1 1\n"
              "a2 rank 2: blocks 2 6 10 servers 2 2 2\n"
              "a3 rank 3: blocks 3 7 11 servers 3 3 3\n");
}

TEST(Lacio, many_to_one_aggregators_of_a_server_have_contiguous_ranges_of_its_object) {
    auto const scene = with_aggregators(interleaved(4, 2, 3), 4);
    EXPECT_EQ(show_aggregators(plan_for(lacio, scene), scene.layout, block),
              "a0 rank 0: blocks 0 2 4 servers 0 0 0\n"
              "a1 rank 1: blocks 6 8 10 servers 0 0 0\n"
              "a2 rank 2: blocks 1 3 5 servers 1 1 1\n"
              "a3 rank 3: blocks 7 9 11 servers 1 1 1\n");
}

// Server 0 has blocks 0 to 7 and 8, 10, 12, 14; server 1 has 9, 11, 13, 15: three times as many
// bytes, so three of four aggregators.
TEST(Lacio, when_aggregators_do_not_divide_evenly_the_server_with_more_bytes_gets_more) {
    auto scene = with_aggregators(interleaved(4, 1, 4), 4);
    scene.layout = Layout::of("test", {Striping::round_robin(block, {0}, 8 * block),
                                       Striping::round_robin(block, {0, 1})});
    EXPECT_EQ(show_servers(plan_for(lacio, scene), scene.layout, block),
              "server 0: a0 0 1 2 3 | a1 4 5 6 7 | a2 8 10 12 14\n"
              "server 1: a3 9 11 13 15\n");
}

TEST(Lacio, five_aggregators_for_two_equal_servers_are_three_and_two) {
    auto const scene = with_aggregators(interleaved(6, 2, 2), 5);
    EXPECT_EQ(show_servers(plan_for(lacio, scene), scene.layout, block),
              "server 0: a0 0 2 | a1 4 6 | a2 8 10\n"
              "server 1: a3 1 3 5 | a4 7 9 11\n");
}

TEST(Lacio, one_to_many_an_aggregator_has_adjacent_servers) {
    auto const scene = with_aggregators(interleaved(4, 4, 2), 2);
    EXPECT_EQ(show_aggregators(plan_for(lacio, scene), scene.layout, block),
              "a0 rank 0: blocks 0 4 servers 0 0\n"
              "a1 rank 0: blocks 1 5 servers 1 1\n"
              "a2 rank 1: blocks 2 6 servers 2 2\n"
              "a3 rank 1: blocks 3 7 servers 3 3\n");
}

// Five servers for two aggregators: the middle of server 2's bytes is the middle of all.
TEST(Lacio, one_to_many_balances_bytes_when_servers_do_not_divide_evenly) {
    auto const scene = with_aggregators(interleaved(5, 5, 2), 2);
    EXPECT_EQ(plan_for(lacio, scene).aggregators, (std::vector<std::uint32_t>{0, 0, 1, 1, 1}));
}

// Blocks 0 and 1 of four servers: the other two get no aggregator.
TEST(Lacio, servers_without_bytes_get_no_aggregator) {
    auto const scene = with_aggregators(interleaved(2, 4, 1), 2);
    EXPECT_EQ(show_servers(plan_for(lacio, scene), scene.layout, block),
              "server 0: a0 0\n"
              "server 1: a1 1\n"
              "server 2:\n"
              "server 3:\n");
}

}  // namespace
}  // namespace unisono
