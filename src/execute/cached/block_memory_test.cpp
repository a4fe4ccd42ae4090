#include "execute/cached/block_memory.hpp"

#include <gtest/gtest.h>

#include "execute/thread_team.hpp"

namespace unisono {
namespace {

Plan plan_of(std::vector<std::uint32_t> aggregators, std::uint64_t blocks_each) {
    Plan plan{.way = Plan::Way::cached, .aggregators = std::move(aggregators)};
    plan.block_bytes = 100;
    plan.pool_bytes = 100 * blocks_each;
    return plan;
}

bool make_room(BlockMemory& memory, BlockTable::Blocks blocks) {
    auto more = memory.get(blocks);
    if (!more) return false;
    memory.add(*std::move(more), blocks);
    memory.place(blocks);
    return true;
}

// Ranks 0 and 1 are one node, 2 another; blocks go to 0, 2, 0, 2, ...
TEST(BlockMemory, ranks_of_a_node_see_the_same_buffers_and_those_of_other_nodes_have_their_own) {
    ThreadTeams teams{make_topology({0, 0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        BlockMemory memory{team};
        memory.reset(plan_of({0, 2}, 4));
        ASSERT_TRUE(make_room(memory, {0, 4}));
        EXPECT_EQ(memory.is_mine(2), team.rank() == 0);
        EXPECT_EQ(memory.is_mine(3), team.rank() == 2);
        auto const own = std::uint64_t{team.rank() == 2 ? 1U : 0U};
        if (memory.is_mine(own)) memory.buffer(own).data()[0] = std::byte(40 + own);
        rendezvous.barrier();
        EXPECT_EQ(memory.buffer(own).data()[0], std::byte(40 + own));
    });
}

// Data of a rank's blocks are told apart by their order alone.
TEST(BlockMemory, a_rank_that_aggregates_twice_has_its_blocks_in_one_order_everywhere) {
    ThreadTeams teams{make_topology({0, 1, 2})};
    teams.run([&](Team& team, Rendezvous&) {
        BlockMemory memory{team};
        memory.reset(plan_of({0, 1, 2, 0, 1, 2}, 1));
        std::vector<std::size_t> order;
        memory.for_each_aggregator([&](std::size_t aggregator) { order.push_back(aggregator); });
        auto const mine = std::size_t{team.rank()};
        auto const next = (mine + 1) % 3;
        auto const last = (mine + 2) % 3;
        EXPECT_EQ(order, (std::vector{mine, mine + 3, next, next + 3, last, last + 3}));
    });
}

// With two of four blocks used, room is made for at least as many more; what was there stays.
TEST(BlockMemory, growing_leaves_what_is_there_where_it_is) {
    ThreadTeams teams{make_topology({0})};
    teams.run([&](Team& team, Rendezvous&) {
        BlockMemory memory{team};
        memory.reset(plan_of({0}, 4));
        ASSERT_TRUE(make_room(memory, {0, 2}));
        auto* const before = memory.buffer(1).data();
        *before = std::byte{7};
        ASSERT_TRUE(make_room(memory, {2, 4}));
        EXPECT_EQ(memory.buffer(1).data(), before);
        EXPECT_EQ(*memory.buffer(1).data(), std::byte{7});
        EXPECT_NE(memory.buffer(3).data(), memory.buffer(2).data());
    });
}

TEST(BlockMemory, there_is_nothing_to_add_where_there_is_no_memory) {
    ThreadTeams teams{make_topology({0, 1})};
    teams.no_node_memory = true;
    teams.run([&](Team& team, Rendezvous&) {
        BlockMemory memory{team};
        memory.reset(plan_of({0, 1}, 4));
        EXPECT_FALSE(memory.get({0, 2}));
    });
}

// Bytes 150 to 350 of the file are in blocks 1, 2 and 3, of which aggregator 1 has 1 and 3.
TEST(BlockMemory, parts_are_what_a_view_has_in_the_blocks_of_one_aggregator) {
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous&) {
        BlockMemory memory{team};
        memory.reset(plan_of({0, 1}, 4));
        std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
        memory.for_parts(
            {0, 8}, {make_dense(1), 0, 1}, {150, 350}, 1,
            [&](std::uint64_t block, Positions part) { parts.emplace_back(block, part.bytes()); });
        EXPECT_EQ(parts, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 50}, {3, 50}}));
    });
}

TEST(BlockMemory, another_pool_or_other_aggregators_do_not_suit) {
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous&) {
        BlockMemory memory{team};
        EXPECT_FALSE(memory.suits(plan_of({0, 1}, 4)));
        memory.reset(plan_of({0, 1}, 4));
        EXPECT_TRUE(memory.suits(plan_of({0, 1}, 4)));
        EXPECT_FALSE(memory.suits(plan_of({0, 1}, 5)));
        EXPECT_FALSE(memory.suits(plan_of({1}, 4)));
    });
}

}  // namespace
}  // namespace unisono
