#include <gtest/gtest.h>

#include "layouts/layout_text.hpp"
#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// Orthrus, section 2.2: as many aggregators as data nodes, each sorts the requests to one of them.
TEST(DiskFirst, every_server_has_one_aggregator_that_accesses_it_in_order) {
    auto const scene = resonant_figure_1();
    EXPECT_EQ(show_servers(plan_for(disk_first, scene), scene.layout, block),
              "server 0: a0 0 4 8 12\n"
              "server 1: a1 1 5 9 13\n"
              "server 2: a2 2 6 10 14\n"
              "server 3: a3 3 7 11 15\n");
}

TEST(DiskFirst, with_fewer_ranks_than_servers_a_rank_aggregates_for_several) {
    auto const scene = interleaved(2, 3, 3);
    EXPECT_EQ(show_aggregators(plan_for(disk_first, scene), scene.layout, block),
              "a0 rank 0: blocks 0 3 servers 0 0\n"
              "a1 rank 1: blocks 1 4 servers 1 1\n"
              "a2 rank 0: blocks 2 5 servers 2 2\n");
}

TEST(DiskFirst, aggregators_are_spread_over_the_nodes) {
    auto scene = interleaved(8, 2, 1);
    scene.topology = make_topology({0, 0, 0, 0, 1, 1, 1, 1});
    EXPECT_EQ(plan_for(disk_first, scene).aggregators, (std::vector<std::uint32_t>{0, 4}));
}

// 64 KiB on server 0 for the first four blocks, then both servers in turn.
TEST(DiskFirst, a_composite_layout_is_followed_from_component_to_component) {
    auto scene = interleaved(4, 1, 2);
    scene.layout = Layout::of("test", {Striping::round_robin(block, {0}, 4 * block),
                                       Striping::round_robin(block, {0, 1})});
    EXPECT_EQ(show_servers(plan_for(disk_first, scene), scene.layout, block),
              "server 0: a0 0 1 2 3 4 6\n"
              "server 1: a1 5 7\n");
}

TEST(DiskFirst, says_that_it_needs_to_know_the_servers) {
    auto scene = interleaved(4, 4, 1);
    scene.layout = Layout::unknown("test", "nobody knows");
    for (auto const* strategy : {&disk_first, &resonant, &lacio})
        EXPECT_EQ(unfit_for(*strategy, scene), "it is not known which server has which byte");
    for (auto const* strategy : {&two_phase, &core_first, &independent, &native})
        EXPECT_EQ(unfit_for(*strategy, scene), "");
}

TEST(DiskFirst, stripes_that_cut_pages_do_not_suit_nodes_that_write_whole_pages_back) {
    auto scene = interleaved(4, 4, 1);
    scene.layout = round_robin_layout(1000, 4);
    SceneFacts known{scene};
    known.facts.page_cached = true;
    for (auto const* strategy : {&disk_first, &resonant, &lacio})
        EXPECT_EQ(strategy->unfit(known.facts),
                  "this file system writes whole pages back, and stripes cut them");
}

// What a server has of the later part need not begin with a page.
TEST(DiskFirst, several_stripings_do_not_suit_nodes_that_write_whole_pages_back) {
    auto scene = interleaved(4, 4, 1);
    scene.layout =
        parse_layout("end=1M,stripe_bytes=64K,servers=1; stripe_bytes=1000,servers=4", "test");
    SceneFacts known{scene};
    for (auto const* strategy : {&disk_first, &resonant, &lacio})
        EXPECT_EQ(strategy->unfit(known.facts), "");
    known.facts.page_cached = true;
    for (auto const* strategy : {&disk_first, &resonant, &lacio})
        EXPECT_NE(strategy->unfit(known.facts), "");
}

}  // namespace
}  // namespace unisono
