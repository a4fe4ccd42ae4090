#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// Figures 1 and 3b: all requests to a server come from one process, in the order of the offsets.
// Here a process asks one server for all of its blocks, so that no data moves either.
TEST(Resonant, the_agent_of_a_server_is_the_process_whose_segments_it_has) {
    auto const scene = resonant_figure_1();
    auto const plan = plan_for(resonant, scene);
    EXPECT_EQ(show_servers(plan, scene.layout, block),
              "server 0: a0 0 4 8 12\n"
              "server 1: a1 1 5 9 13\n"
              "server 2: a2 2 6 10 14\n"
              "server 3: a3 3 7 11 15\n");
    EXPECT_EQ(plan.aggregators, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(plan.list_extents_max, 64u);
}

// Two processes, 128 KiB segments (section 1.2): "two I/O nodes are dedicated to service requests
// from one process". Nothing crosses: rank 0's are servers 0 and 1.
TEST(Resonant, two_processes_are_agents_of_the_two_servers_that_each_asks) {
    auto scene = interleaved(2, 4, 1);
    scene.requests = block_requests(2 * block, {0, 1}, 4, 2);
    EXPECT_EQ(show_aggregators(plan_for(resonant, scene), scene.layout, block),
              "a0 rank 0: blocks 0 4 8 12 servers 0 0 0 0\n"
              "a1 rank 0: blocks 1 5 9 13 servers 1 1 1 1\n"
              "a2 rank 1: blocks 2 6 10 14 servers 2 2 2 2\n"
              "a3 rank 1: blocks 3 7 11 15 servers 3 3 3 3\n");
}

// Nodes whose clients write whole pages back overwrote each other's bytes in the page that they
// share.
TEST(Resonant, ranks_write_no_page_by_themselves_that_another_nodes_client_writes_back) {
    Scene scene{.topology = make_topology({0, 1}),
                .layout = round_robin_layout(block, 4),
                .requests = block_requests(1000, {0, 1}, 1, 1)};
    EXPECT_EQ(unfit_for(resonant, scene), "");
    scene.page_cached = true;
    EXPECT_NE(unfit_for(resonant, scene), "");
    scene.direction = Direction::read;
    EXPECT_EQ(unfit_for(resonant, scene), "");
}

// Server 0 has 3 blocks of rank 2, 1 of rank 3; server 1 has 3 of rank 0, 1 of rank 3; ...
TEST(Resonant, an_agent_asks_its_server_for_most_and_a_tie_goes_to_the_lowest_rank) {
    auto scene = interleaved(4, 3, 3);
    scene.requests = block_requests(block, {1, 2, 0}, 3, 3);
    scene.requests.push_back(block_requests(block, {9}, 3, 1).front());
    EXPECT_EQ(plan_for(resonant, scene).aggregators, (std::vector<std::uint32_t>{2, 0, 1}));
    scene.requests = interleaved(4, 3, 3).requests;  // all ask all servers for one block
    EXPECT_EQ(plan_for(resonant, scene).aggregators, (std::vector<std::uint32_t>{0, 1, 2}));
}

// Rank 0 asks both servers for most, but is server 0's agent already.
TEST(Resonant, a_process_is_one_servers_agent_as_long_as_there_are_others) {
    auto scene = interleaved(2, 2, 1);
    scene.requests = block_requests(block, {0}, 8, 1);
    scene.requests.push_back(block_requests(block, {7}, 1, 1).front());
    EXPECT_EQ(plan_for(resonant, scene).aggregators, (std::vector<std::uint32_t>{0, 1}));
}

// Section 3.4: more agents for a server. cb_nodes asks for two each.
TEST(Resonant, several_agents_of_a_server_have_contiguous_ranges_of_its_object) {
    auto scene = interleaved(8, 2, 2);
    scene.options.cb_nodes = 4;
    EXPECT_EQ(show_servers(plan_for(resonant, scene), scene.layout, block),
              "server 0: a0 0 2 4 6 | a1 8 10 12 14\n"
              "server 1: a2 1 3 5 7 | a3 9 11 13 15\n");
    EXPECT_EQ(plan_for(resonant, scene).aggregators, (std::vector<std::uint32_t>{0, 2, 1, 3}));
}

// Section 3.4: n = 4 servers, so groups of four; process i waits for process i - 4.
TEST(Resonant, processes_whose_data_does_not_overlap_access_it_in_groups) {
    auto const plan = plan_for(resonant, ordered(9, 4, 4));
    EXPECT_EQ(plan.way, Plan::Way::direct);
    EXPECT_EQ(show_turns(plan), "4 after 0, 5 after 1, 6 after 2, 7 after 3, 8 after 4");
}

// Servers 0 and 1 have all of ranks 0, 2, 4, 6; servers 2 and 3 all of 1, 3, 5, 7: groups of two in
// each set.
TEST(Resonant, process_sets_that_share_no_server_do_not_wait_for_each_other) {
    EXPECT_EQ(show_turns(plan_for(resonant, ordered(8, 4, 2))),
              "4 after 0, 5 after 1, 6 after 2, 7 after 3");
}

// One block each, four servers: sets are {0, 4, 8}, {1, 5, 9} ..., with one server each.
TEST(Resonant, processes_of_one_server_wait_in_a_chain) {
    EXPECT_EQ(show_turns(plan_for(resonant, ordered(10, 4, 1))),
              "4 after 0, 5 after 1, 6 after 2, 7 after 3, 8 after 4, 9 after 5");
}

// "n process groups", n = 4 servers: nine processes in groups of three, of which the last is empty;
// process i waits for process i - 3. With groups of n it is i - 4.
TEST(Resonant, processes_may_be_in_as_many_groups_as_there_are_servers) {
    auto scene = ordered(9, 4, 4);
    scene.options.as_many_groups_as_servers = true;
    EXPECT_EQ(show_turns(plan_for(resonant, scene)),
              "3 after 0, 4 after 1, 5 after 2, 6 after 3, 7 after 4, 8 after 5");
    scene = ordered(10, 4, 1);
    scene.options.as_many_groups_as_servers = true;
    EXPECT_EQ(show_turns(plan_for(resonant, scene)), "")
        << "one server, one group: as in the paper's figure 7 from 64 KiB on";
}

// Of the 2.3 ms of a call of four 16 KiB 0.9 were this.
TEST(Resonant, those_who_share_a_single_server_wait_for_their_turn_and_no_longer) {
    EXPECT_EQ(plan_for(resonant, ordered(10, 4, 1)).delay_s, 0);
    EXPECT_EQ(plan_for(resonant, ordered(9, 4, 4)).delay_s, 0.3e-3);
}

TEST(Resonant, ranks_without_bytes_neither_wait_nor_are_waited_for) {
    auto scene = ordered(4, 1, 1);
    scene.requests[1].positions = {};
    EXPECT_EQ(show_turns(plan_for(resonant, scene)), "2 after 0, 3 after 2");
}

TEST(Resonant, prefetches_only_reads_and_only_on_request) {
    auto scene = resonant_figure_1();
    scene.options.prefetch_then_read = true;
    EXPECT_FALSE(plan_for(resonant, scene).prefetch_then_read);
    scene.direction = Direction::read;
    EXPECT_TRUE(plan_for(resonant, scene).prefetch_then_read);
    scene.options.prefetch_then_read = false;
    EXPECT_FALSE(plan_for(resonant, scene).prefetch_then_read);
}

}  // namespace
}  // namespace unisono
