#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// LACIO, figures 3 and 5b: it "leads to file server 0 serving aggregator 0, 1 and 2".
TEST(TwoPhase, conventional_domains_make_every_server_serve_three_aggregators) {
    auto const scene = lacio_figure_3();
    auto const plan = plan_for(two_phase, scene);
    EXPECT_EQ(show_aggregators(plan, scene.layout, block),
              "a0 rank 0: blocks 0 1 2 servers 0 1 2\n"
              "a1 rank 1: blocks 3 4 5 servers 3 0 1\n"
              "a2 rank 2: blocks 6 7 8 servers 2 3 0\n"
              "a3 rank 3: blocks 9 10 11 servers 1 2 3\n");
    EXPECT_EQ(show_servers(plan, scene.layout, block),
              "server 0: a0 0 | a1 4 | a2 8\n"
              "server 1: a0 1 | a1 5 | a3 9\n"
              "server 2: a0 2 | a2 6 | a3 10\n"
              "server 3: a1 3 | a2 7 | a3 11\n");
}

// Resonant I/O, figure 3a: each server gets requests of four processes in an order that nobody
// knows.
TEST(TwoPhase, file_domains_of_four_segments_meet_at_every_server) {
    auto const scene = resonant_figure_1();
    EXPECT_EQ(show_servers(plan_for(two_phase, scene), scene.layout, block),
              "server 0: a0 0 | a1 4 | a2 8 | a3 12\n"
              "server 1: a0 1 | a1 5 | a2 9 | a3 13\n"
              "server 2: a0 2 | a1 6 | a2 10 | a3 14\n"
              "server 3: a0 3 | a1 7 | a2 11 | a3 15\n");
}

// Derivation: 4 stripes of 64 KiB of each of 8 servers are 2 MiB; 512 KiB at least, 4 MiB at most.
TEST(TwoPhase, reads_from_servers_take_several_stripes_of_each_at_a_time) {
    constexpr std::uint64_t kib = 1 << 10;
    auto scene = lacio_figure_3();
    auto const window_kib = [&](std::uint64_t unit_kib, std::uint32_t servers) {
        scene.layout = round_robin_layout(unit_kib * kib, servers);
        return plan_for(two_phase, scene).window_bytes / kib;
    };
    scene.direction = Direction::read;
    EXPECT_EQ(window_kib(64, 8), 2048u);
    EXPECT_EQ(window_kib(64, 1), 512u);
    EXPECT_EQ(window_kib(4096, 8), 4096u);
    scene.links = Links::idle;
    EXPECT_EQ(window_kib(64, 1), 4096u);
    scene.options.cb_buffer_size = 1024 * kib;
    EXPECT_EQ(window_kib(64, 8), 1024u) << "asked for";
    scene.options.cb_buffer_size = 0;
    scene.direction = Direction::write;
    EXPECT_EQ(window_kib(64, 8), 512u);
}

TEST(TwoPhase, windows_grew_to_stripes_far_longer_than_they) {
    Scene const scene{.topology = make_topology({0, 1, 2, 3}),
                      .layout = round_robin_layout(64 * MiB, 4),
                      .requests = block_requests(1024 * MiB, {0, 1, 2, 3}, 1, 1),
                      .direction = Direction::read};
    EXPECT_LE(plan_for(two_phase, scene).window_bytes, 4 * MiB + 512 * KiB);
}

// Derivation: each of 4 nodes has 113 stripes: 7 windows of 16 and one stripe more, or 7 of 17.
TEST(TwoPhase, reads_have_no_round_for_the_one_stripe_that_is_left) {
    auto scene = interleaved(/*ranks=*/4, /*servers=*/4, /*blocks_each=*/113);
    scene.direction = Direction::read;
    EXPECT_EQ(plan_for(two_phase, scene).window_bytes, 17 * block);
}

// Derivation: a window is 1 MiB, a turn of 4 ranks 256 KiB, and 2 MiB with pieces of 512 KiB.
TEST(TwoPhase, aggregators_begin_with_different_windows_where_a_turn_is_longer_than_one) {
    auto scene = interleaved(/*ranks=*/4, /*servers=*/4, /*blocks_each=*/64);
    scene.direction = Direction::read;
    EXPECT_FALSE(plan_for(two_phase, scene).staggered);
    scene.requests = block_requests(8 * block, {0, 1, 2, 3}, 8, 4);
    EXPECT_TRUE(plan_for(two_phase, scene).staggered);
}

// Derivation: 4 stripes; 512 KiB at least, 4 MiB at most.
TEST(TwoPhase, writes_to_servers_take_some_stripes_at_a_time) {
    constexpr std::uint64_t kib = 1 << 10;
    auto scene = lacio_figure_3();
    auto const window_kib = [&](std::uint64_t unit_kib) {
        scene.layout = round_robin_layout(unit_kib * kib, 4);
        return plan_for(two_phase, scene).window_bytes / kib;
    };
    scene.topology = make_topology({0, 0, 1, 1});
    EXPECT_EQ(window_kib(64), 512u);
    EXPECT_EQ(window_kib(256), 1024u);
    EXPECT_EQ(window_kib(8192), 4096u);
    scene.topology = make_topology({0, 1, 2, 3});
    EXPECT_EQ(window_kib(1024), 512u) << "short messages, which no neighbour can put together";
}

// 4 ranks of 2 nodes, 3 stripes each, one after the other, on 4 servers: as many aggregators, of
// which each has half of what its own node's ranks ask for.
TEST(TwoPhase, owns_what_its_nodes_ranks_ask_for_where_that_is_a_range) {
    constexpr std::uint64_t unit = 64 << 10;
    auto const topology = make_topology({0, 0, 1, 1});
    auto const layout = round_robin_layout(unit, 4);
    Facts facts{.topology = &topology, .layout = &layout, .touched = {unit, 13 * unit}};
    facts.bytes = facts.touched.bytes();
    facts.loops = {.piece_bytes = 3 * unit, .loops = {}};
    auto const cuts = [&](Options const& options) {
        std::vector<std::uint64_t> begins;
        for (auto const& realm : two_phase.plan(facts, options).realms)
            begins.push_back(touched(realm).begin / unit);
        return begins;
    };
    EXPECT_EQ(two_phase.plan(facts, {}).aggregators, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(cuts({}), (std::vector<std::uint64_t>{1, 4, 7, 10}));
    facts.touched = {unit, 14 * unit};  // a hole: even parts of 13 stripes
    EXPECT_EQ(cuts({}), (std::vector<std::uint64_t>{1, 5, 8, 11}));
}

TEST(TwoPhase, refuses_views_whose_offsets_do_not_ascend) {
    EXPECT_FALSE(two_phase.unfit({.ascending = false}).empty());
    EXPECT_TRUE(two_phase.unfit({.ascending = true}).empty());
}

}  // namespace
}  // namespace unisono
