#include "select/rule.hpp"

#include <gtest/gtest.h>

#include "strategies/all.hpp"

namespace unisono {
namespace {

struct Call {
    Options options;
    Topology topology = make_topology({0, 0, 0, 0});
    Facts facts{.direction = Direction::write,
                .topology = &topology,
                .touched = {0, 1 << 20},
                .bytes = 1 << 20,
                .pieces = 4096,
                .rank_ordered = false};
};

TEST(Choose, interleaved_small_pieces_are_staged) {
    Call call;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
}

TEST(Choose, one_piece_per_rank_in_rank_order_needs_no_exchange) {
    Call call;
    call.facts.pieces = 4;
    call.facts.rank_ordered = true;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
}

// It was said to be one piece for each rank, where one of them has all four.
TEST(Choose, as_few_pieces_as_ranks_may_all_be_one_ranks) {
    Call call;
    call.facts.touched = {0, 4 * 1024};
    call.facts.bytes = 4 * 512;
    call.facts.pieces = 4;
    call.facts.rank_ordered = true;
    EXPECT_EQ(choose(call.facts, call.options).why, "few contiguous pieces, in rank order");
}

// HDF5's metadata: a meeting for each rank's own system call, instead of three and a copy.
TEST(Choose, what_all_ranks_read_of_a_local_file_needs_no_exchange) {
    Call call;
    call.facts.direction = Direction::read;
    call.facts.touched = {0, 512};
    call.facts.pieces = 4;
    call.facts.bytes = 4 * 512;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase) << "a server is asked once";
    call.facts.local_storage = true;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
    call.facts.pieces = 5;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
}

// 16 ranks of 2 nodes with 4 KiB each: 8 requests of a node become one.
TEST(Choose, small_pieces_of_many_ranks_of_a_node_go_to_the_file_together) {
    Call call;
    auto const strategy_for = [&](std::vector<std::uint32_t> const& nodes,
                                  std::uint64_t piece_bytes) {
        call.topology = make_topology(nodes);
        call.facts.pieces = nodes.size();
        call.facts.bytes = nodes.size() * piece_bytes;
        call.facts.touched = {0, call.facts.bytes};
        call.facts.rank_ordered = true;
        call.facts.loops = {.piece_bytes = piece_bytes, .loops = {}};
        return choose(call.facts, call.options).strategy;
    };
    std::vector<std::uint32_t> const blocks{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    EXPECT_EQ(strategy_for(blocks, 4096), &two_phase);
    EXPECT_EQ(strategy_for(blocks, 64 << 10), &independent) << "large";
    EXPECT_EQ(strategy_for({0, 0, 1, 1}, 4096), &independent) << "few of a node";
    auto dealt = blocks;
    std::swap(dealt[7], dealt[8]);
    EXPECT_EQ(strategy_for(dealt, 4096), &independent) << "not side by side";
    call.options.cb_nodes = 1;
    EXPECT_EQ(strategy_for(blocks, 4096), &independent) << "the user says who aggregates";
    call.options.cb_nodes = 0;
    call.facts.local_storage = true;
    EXPECT_EQ(strategy_for(blocks, 4096), &independent) << "local";
}

TEST(Choose, calls_go_through_blocks_where_that_was_asked_for_in_their_direction) {
    Call call;
    call.facts.cacheable = true;
    call.options.read_ahead = Switch::enable;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
    call.facts.direction = Direction::read;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &view_based);
    call.facts.local_storage = true;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase) << "own page cache";
    call.facts.pieces = call.facts.topology->ranks();
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent) << "own page cache";
    call.facts.local_storage = false;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &view_based);
    call.options.read_ahead = Switch::automatic;
    call.facts.pieces = 4096;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
}

TEST(Choose, each_rank_accesses_large_pieces_by_itself) {
    auto const strategy_for = [](Direction direction, bool local, std::uint64_t piece_bytes) {
        Call call;
        call.facts.direction = direction;
        call.facts.local_storage = local;
        call.facts.bytes = 64 << 20;
        call.facts.pieces = call.facts.bytes / piece_bytes;
        return choose(call.facts, call.options).strategy;
    };
    EXPECT_EQ(strategy_for(Direction::read, true, 16 << 10), &independent);
    EXPECT_EQ(strategy_for(Direction::read, true, 8 << 10), &two_phase);
    EXPECT_EQ(strategy_for(Direction::write, true, 512 << 10), &independent);
    EXPECT_EQ(strategy_for(Direction::write, true, 256 << 10), &two_phase) << "the file's lock";
    for (auto const direction : {Direction::read, Direction::write}) {
        EXPECT_EQ(strategy_for(direction, false, 64 << 10), &independent);
        EXPECT_EQ(strategy_for(direction, false, 32 << 10), &two_phase);
    }
}

TEST(Choose, the_users_word_comes_first_unless_the_strategy_is_unfit) {
    Call call;
    call.options.strategy = "independent";
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
    call.options.strategy = "two_phase";
    call.facts.ascending = false;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
}

TEST(Choose, where_nothing_is_asked_for_no_strategy_need_cope_with_that) {
    Call call;
    call.options.strategy = "lacio";
    call.facts.bytes = 0;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
}

TEST(Choose, where_whole_pages_are_written_back_no_two_nodes_write_one) {
    Call call;
    call.topology = make_topology({0, 0, 1, 1});
    call.facts.page_cached = true;
    call.facts.pieces = 4;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
    call.options.strategy = "core_first";
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
    EXPECT_FALSE(choose(call.facts, call.options).refusal.empty());
    call.facts.direction = Direction::read;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &core_first) << "nothing is written";
}

TEST(Choose, small_writes_that_repeat_are_written_behind_where_it_is_said_how_much_may_be_lost) {
    Call repeated;
    repeated.facts.write_only = repeated.facts.cacheable = true;
    repeated.facts.repeats = 2;
    repeated.options.write_behind_bytes = 32 << 20;
    EXPECT_EQ(choose(repeated.facts, repeated.options).strategy, &view_based);
    auto const is_not = [&](auto&& change) {
        auto call = repeated;
        call.facts.topology = &call.topology;
        change(call);
        return choose(call.facts, call.options).strategy != &view_based;
    };
    EXPECT_TRUE(is_not([](Call& call) { call.facts.write_only = false; }));
    EXPECT_TRUE(is_not([](Call& call) { call.facts.repeats = 1; }));
    EXPECT_TRUE(is_not([](Call& call) { call.facts.local_storage = true; }));
    EXPECT_TRUE(is_not([](Call& call) { call.facts.direction = Direction::read; }));
    EXPECT_TRUE(is_not([](Call& call) { call.facts.pieces = 16; })) << "large pieces";
    EXPECT_TRUE(is_not([](Call& call) { call.facts.bytes = 5 << 20; })) << "large calls";
    EXPECT_TRUE(is_not([](Call& call) { call.facts.cacheable = false; }));
    EXPECT_TRUE(is_not([](Call& call) { call.options.write_behind_bytes = 0; }));
    EXPECT_TRUE(is_not([](Call& call) { call.options.write_behind = Switch::disable; }));
    EXPECT_TRUE(is_not([](Call& call) { call.options.cb_write = Switch::disable; }));
    EXPECT_TRUE(is_not([](Call& call) { call.options.check = "communicate"; }));
    EXPECT_TRUE(is_not([](Call& call) { call.options.strategy = "two_phase"; }));
}

TEST(Choose, romio_hints_mean_what_they_say) {
    Call call;
    call.options.cb_write = Switch::disable;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &independent);
    call.options.cb_write = Switch::enable;
    call.facts.pieces = 4;
    call.facts.rank_ordered = true;
    EXPECT_EQ(choose(call.facts, call.options).strategy, &two_phase);
}

}  // namespace
}  // namespace unisono
