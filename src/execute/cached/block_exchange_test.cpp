#include "execute/cached/block_exchange.hpp"

#include <gtest/gtest.h>

#include "execute/thread_team.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t small_block_bytes = 64;
constexpr BlockTable::Blocks round_of_two{0, 2};

/// Two ranks, block 0 with rank 0 and block 1 with rank 1, on one node or on two. Each rank asks
/// for every other 8 bytes of both blocks: rank 0 those at 0, 16, ..., rank 1 those at 8, 24, ....
class TwoBlocks : public testing::TestWithParam<std::vector<std::uint32_t>> {
protected:
    struct Rank {
        BlockMemory memory;
        ViewDirectory views;
        std::vector<std::byte> data = std::vector<std::byte>(small_block_bytes);
        Request request;
        CallRecord record;
        std::optional<BlockCall> call;
        std::optional<NearAndFar<BlockCall, BlockTable::Blocks>> exchange;

        Rank(Team& team, Direction direction) : memory{team} {
            Plan plan{.way = Plan::Way::cached, .aggregators = {0, 1}};
            plan.block_bytes = small_block_bytes;
            plan.pool_bytes = small_block_bytes;
            memory.reset(plan);
            memory.add(memory.get(round_of_two).value(), round_of_two);
            memory.place(round_of_two);
            request = {.direction = direction,
                       .view = {make_dense(8), std::int64_t{8} * team.rank(), 16},
                       .positions = {0, small_block_bytes},
                       .memory = {make_dense(1), 0, 1},
                       .base = reinterpret_cast<std::uintptr_t>(data.data())};
            call.emplace(BlockCall{team, memory, views, request, record});
            auto const mine = views.interval_of(request.view, request.positions);
            call->intervals = team.gather_values(std::span<ViewInterval const>{&mine, 1});
            views.learn(team, memory.aggregators(), call->intervals, request.view.shape);
            exchange.emplace(*call, make_near_block_exchange(*call),
                             make_far_block_exchange(*call));
        }
    };

    void run(Direction direction,
             std::function<void(Rank&, Team&, Rendezvous&)> const& program) const {
        ThreadTeams teams{make_topology(GetParam())};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            Rank rank{team, direction};
            program(rank, team, rendezvous);
            rendezvous.barrier();
        });
    }
};

// Bytes 0 to 7 are rank 0's first ones, 8 to 15 rank 1's, and so on.
TEST_P(TwoBlocks, what_ranks_put_is_in_the_block_of_its_aggregator_and_dirty) {
    run(Direction::write, [](Rank& rank, Team& team, Rendezvous& rendezvous) {
        std::ranges::fill(rank.data, std::byte(1 + team.rank()));
        rank.exchange->fill(round_of_two);
        rendezvous.barrier();
        auto const block = rank.memory.buffer(std::uint64_t{team.rank()});
        for (std::uint64_t at = 0; at < small_block_bytes; ++at)
            EXPECT_EQ(block.data()[at], std::byte(1 + at / 8 % 2)) << at;
        auto const dirty = block.take_dirty();
        ASSERT_EQ(dirty.size(), 1U);
        EXPECT_EQ(dirty[0].bytes(), small_block_bytes);
    });
}

// Block 0 may be read up to its byte 20, which is rank 0's; nothing of block 1.
TEST_P(TwoBlocks, ranks_take_what_may_be_read_and_nothing_behind_it) {
    run(Direction::read, [](Rank& rank, Team& team, Rendezvous& rendezvous) {
        rank.exchange->ask(round_of_two);
        rendezvous.barrier();
        auto const block = rank.memory.buffer(std::uint64_t{team.rank()});
        auto const wanted = block.take_missing({0, small_block_bytes});
        ASSERT_EQ(wanted.size(), 1U);
        EXPECT_EQ(wanted[0].bytes(), small_block_bytes);
        std::fill_n(block.data(), small_block_bytes, std::byte{5});
        block.set_readable_end(20);
        rendezvous.barrier();
        rank.exchange->hand_out(round_of_two);
        auto const got = static_cast<std::uint64_t>(std::ranges::count(rank.data, std::byte{5}));
        EXPECT_EQ(got, team.rank() == 0 ? 12U : 8U);
        EXPECT_EQ(rank.data[got], std::byte{0});
    });
}

INSTANTIATE_TEST_SUITE_P(Nodes, TwoBlocks,
                         testing::Values(std::vector<std::uint32_t>{0, 0},
                                         std::vector<std::uint32_t>{0, 1}),
                         [](auto const& nodes) { return nodes.param[1] == 0 ? "one" : "two"; });

}  // namespace
}  // namespace unisono
