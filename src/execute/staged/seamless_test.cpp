#include "execute/staged/seamless.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "execute/collective_cases.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t rounds = 3000;

/// Short pieces of some ranks, end to end, each rank once a round in any order.
struct Dealt {
    std::vector<std::vector<std::int64_t>> offsets;  // by rank
    std::vector<std::vector<std::uint64_t>> lengths;
    std::uint64_t file_bytes = 0;

    explicit Dealt(std::size_t ranks) : offsets(ranks), lengths(ranks) {
        std::mt19937_64 engine{1};
        std::vector<std::size_t> order(ranks);
        std::iota(order.begin(), order.end(), 0);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::ranges::shuffle(order, engine);
            for (auto const rank : order) {
                offsets[rank].push_back(std::int64_t(file_bytes));
                lengths[rank].push_back(1 + engine() % 20);
                file_bytes += lengths[rank].back();
            }
        }
    }

    /// A piece of rank 0 that has a neighbour of rank 1 of the same length comes to lie upon that.
    /// Returns where it was.
    Extent move_one() {
        for (std::size_t i = rounds / 2; i < rounds; ++i) {
            if (lengths[0][i] != lengths[1][i]) continue;
            auto const begin = std::uint64_t(offsets[0][i]);
            offsets[0][i] = offsets[1][i];
            return {begin, begin + lengths[0][i]};
        }
        return {};
    }

    [[nodiscard]] Request request(std::size_t rank, std::vector<std::byte> const& memory) const {
        auto const shape = make_blocks(offsets[rank], lengths[rank]);
        return {.direction = Direction::write,
                .view = {shape, 0, std::int64_t(file_bytes)},
                .positions = {0, shape->bytes},
                .memory = {make_dense(1), 0, 1},
                .base = reinterpret_cast<std::uintptr_t>(memory.data())};
    }
};

/// What is in a file that was full of 'x' when each rank has written its digit.
std::string written_by(Dealt const& dealt, std::vector<std::uint32_t> const& nodes,
                       std::string const& strategy, std::uint64_t* reductions) {
    TemporaryFile const file;
    file.fill(std::vector(dealt.file_bytes, std::byte{'x'}));
    Options options;
    options.strategy = strategy;
    ThreadTeams teams{make_topology(nodes)};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        std::vector<std::byte> const memory(dealt.file_bytes, std::byte('0' + team.rank()));
        Storage storage;
        arrange(storage, file, "", std::make_shared<BackendCounts>());
        CallRecord record;
        OnlineTuner tuner;
        GatheredFacts gathered;
        auto const outcome =
            perform_collective({team, rendezvous, storage, {}, options, tuner, gathered},
                               dealt.request(team.rank(), memory), {}, record);
        EXPECT_EQ(outcome.verdict.code, 0);
        if (team.rank() == 0) *reductions = record.traffic.reductions;
    });
    auto const contents = file.contents();
    return {reinterpret_cast<char const*>(contents.data()), contents.size()};
}

std::string expected_of(Dealt const& dealt) {
    std::string expected(dealt.file_bytes, 'x');
    for (std::size_t rank = 0; rank < dealt.offsets.size(); ++rank)
        for (std::size_t i = 0; i < rounds; ++i)
            expected.replace(std::size_t(dealt.offsets[rank][i]), dealt.lengths[rank][i],
                             dealt.lengths[rank][i], char('0' + rank));
    return expected;
}

TEST(Seamless, pieces_end_to_end_are_written_without_marks) {
    Dealt const dealt{3};
    std::uint64_t reductions = 0;
    EXPECT_EQ(written_by(dealt, {0, 0, 0}, "two_phase", &reductions), expected_of(dealt));
    EXPECT_EQ(reductions, 1u) << "was it looked for?";
}

TEST(Seamless, nodes_that_write_for_themselves_leave_each_others_bytes) {
    Dealt const dealt{3};
    std::uint64_t reductions = 0;
    EXPECT_EQ(written_by(dealt, {0, 0, 1}, "core_first", &reductions), expected_of(dealt));
}

#ifndef __SANITIZE_THREAD__  // two ranks write the same bytes
TEST(Seamless, a_hole_as_long_as_an_overlap_is_not_written) {
    Dealt dealt{3};
    auto const hole = dealt.move_one();
    ASSERT_FALSE(hole.empty());
    std::uint64_t reductions = 0;
    auto const written = written_by(dealt, {0, 0, 0}, "two_phase", &reductions);
    EXPECT_EQ(written.substr(hole.begin, hole.bytes()), std::string(hole.bytes(), 'x'));
    EXPECT_EQ(std::ranges::count(written, 'x'), std::ptrdiff_t(hole.bytes()));
}
#endif

TEST(Seamless, is_looked_for_only_where_marks_cost_more) {
    auto const topology = make_topology({0, 0});
    Facts facts{.topology = &topology, .touched = {100, 100100}, .bytes = 100000, .pieces = 4000};
    EXPECT_TRUE(may_be_seamless(facts));
    facts.pieces = 400;
    EXPECT_FALSE(may_be_seamless(facts)) << "long pieces, and few";
    facts.pieces = 4000;
    facts.touched.end += 8;
    EXPECT_FALSE(may_be_seamless(facts)) << "8 bytes nobody writes";
    facts.bytes += 8;
    facts.loops = {8, {{6251, 16}}};
    EXPECT_FALSE(may_be_seamless(facts)) << "regular";
}

}  // namespace
}  // namespace unisono
