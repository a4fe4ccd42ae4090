#include "execute/gathered.hpp"

#include <gtest/gtest.h>

#include "execute/collective_cases.hpp"

namespace unisono {
namespace {

// Rank r writes 16 bytes at 16 * r, but at `last` on rank 3.
Request request_of(std::uint32_t rank, std::int64_t last, std::vector<std::byte>& data) {
    data.assign(16, std::byte(rank + 1));
    return {.direction = Direction::write,
            .view = {make_dense(16), rank == 3 ? last : std::int64_t{16} * rank, 16},
            .positions = {0, 16},
            .memory = {make_dense(1), 0, 1},
            .base = reinterpret_cast<std::uintptr_t>(data.data())};
}

// core_first derives from it which bytes each node's aggregator owns: stale facts would lose data.
TEST(Gathered, is_kept_while_all_ranks_ask_for_the_same_and_gathered_anew_when_one_does_not) {
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 0, 1, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        Options options;
        options.strategy = "core_first";
        Layout const layout;
        OnlineTuner tuner;
        GatheredFacts gathered;
        std::vector<std::byte> data;
        auto const gathered_by_call = [&](std::int64_t last) {
            CallRecord record;
            auto const before = teams.gathered.load();
            auto const request = request_of(team.rank(), last, data);
            auto const outcome = perform_collective(
                {team, rendezvous, storage, layout, options, tuner, gathered}, request, {}, record);
            EXPECT_EQ(outcome.strategy, "core_first");
            EXPECT_EQ(outcome.bytes, 16u);
            auto const after = teams.gathered.load();
            Verdict nothing;
            rendezvous.meet(nothing);
            return after - before;
        };
        EXPECT_EQ(gathered_by_call(48), 1);
        EXPECT_EQ(gathered_by_call(48), 0);
        EXPECT_EQ(gathered_by_call(4800), 1);
        EXPECT_EQ(gathered_by_call(4800), 0);
        EXPECT_EQ(gathered_by_call(48), 1);
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 4816u);
    for (std::size_t at = 0; at < 64; ++at) EXPECT_EQ(found[at], std::byte(at / 16 + 1));
    EXPECT_EQ(found[4800], std::byte{4});
    EXPECT_EQ(found[4799], std::byte{0});
}

// Where pieces lie, not how many and how long they are, decides which node's aggregators own what.
// Of both lists of rank 0, all that a call compares cheaply is equal.
TEST(Gathered, other_pieces_of_the_same_sizes_were_in_nobodys_realm) {
    constexpr std::uint64_t block = 64;
    std::vector<std::int64_t> const theirs{1, 3, 9, 15, 21, 31}, first{0, 2, 6, 12, 20, 30},
        second{0, 4, 10, 14, 22, 30};
    TemporaryFile const file;
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        Storage storage;
        storage.descriptor = file.descriptor();
        storage.backend = make_posix_backend(storage.descriptor);
        storage.local = false;
        Options options;
        options.strategy = "two_phase";
        options.check = "plans";  // small calls, too, are divided by node
        auto const layout = Layout::of("test", {Striping::round_robin(block, {0, 1})});
        OnlineTuner tuner;
        GatheredFacts gathered;
        for (auto const& mine : {first, second}) {
            std::vector<std::int64_t> offsets;
            for (auto const number : team.rank() == 0 ? mine : theirs)
                offsets.push_back(number * static_cast<std::int64_t>(block));
            std::vector<std::byte> data(6 * block, std::byte(team.rank() + 1));
            Request const request{
                .direction = Direction::write,
                .view = {make_blocks(offsets, std::vector<std::uint64_t>(6, block)), 0, 2048},
                .positions = {0, data.size()},
                .memory = {make_dense(1), 0, 1},
                .base = reinterpret_cast<std::uintptr_t>(data.data())};
            CallRecord record;
            auto const outcome = perform_collective(
                {team, rendezvous, storage, layout, options, tuner, gathered}, request, {}, record);
            EXPECT_EQ(outcome.strategy, "two_phase");
            EXPECT_EQ(outcome.bytes, data.size());
        }
    });
    auto const found = file.contents();
    ASSERT_EQ(found.size(), 32 * block);
    for (auto const& list : {first, second})
        for (auto const number : list)
            EXPECT_EQ(found[static_cast<std::size_t>(number) * block], std::byte{1}) << number;
}

// Ranks of two nodes take turns with blocks of 8 bytes in the first two cells, of which node 1 has
// five of eight; the third cell is node 0's alone, the fourth one nobody's.
TEST(Gathered, holders_are_the_nodes_that_ask_for_most_of_a_cell) {
    constexpr std::uint64_t cell = 64;
    static Strategy const strategy{.name = "cells",
                                   .cell_bytes = [](Facts const&, Options const&) { return cell; },
                                   .unfit = nullptr,
                                   .plan = nullptr};
    std::vector<std::vector<std::int64_t>> const blocks{
        {0, 24, 64, 88, 128, 136}, {48, 112, 144}, {8, 16, 32, 72, 80}, {40, 56, 96, 104, 120}};
    ThreadTeams teams{make_topology({0, 0, 1, 1})};
    teams.run([&](Team& team, Rendezvous&) {
        auto const& offsets = blocks[team.rank()];
        std::vector<std::uint64_t> const lengths(offsets.size(), 8);
        auto const shape = make_blocks(offsets, lengths);
        Request const request{.view = {shape, 0, 1024},
                              .positions = {0, shape->bytes},
                              .memory = {make_dense(1), 0, 1}};
        Facts facts{.topology = &team.topology(), .touched = {0, 4 * cell}};
        GatheredFacts gathered;
        facts = gathered.complete(facts, strategy, {}, false, team, request);
        ASSERT_EQ(facts.cells.size(), 4u);
        EXPECT_EQ(facts.cell_bytes, cell);
        std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
        for (auto const& [node, bytes] : facts.cells) found.emplace_back(node, bytes);
        EXPECT_EQ(found, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{
                             {1, 40}, {1, 40}, {0, 24}, {0, 0}}));
    });
}

}  // namespace
}  // namespace unisono
