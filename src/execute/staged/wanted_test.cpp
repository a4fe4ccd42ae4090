#include "execute/staged/wanted.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "execute/thread_team.hpp"

namespace unisono {
namespace {

struct Scattered {
    std::vector<Request> requests;  // by rank
    Facts facts;

    // Each rank asks for `count` pieces of up to `piece` bytes somewhere below `range`.
    Scattered(std::mt19937_64& engine, std::size_t ranks, std::uint64_t count, std::uint64_t piece,
              std::uint64_t range) {
        facts.touched = {IoResult::nowhere, 0};
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            std::map<std::int64_t, std::uint64_t> pieces;
            while (pieces.size() < count)
                pieces[std::int64_t(engine() % (range / piece) * piece)] = 1 + engine() % piece;
            std::vector<std::int64_t> offsets;
            std::vector<std::uint64_t> lengths;
            for (auto const& [offset, bytes] : pieces) {
                offsets.push_back(offset);
                lengths.push_back(bytes);
                facts.bytes += bytes;
            }
            auto const shape = make_blocks(offsets, lengths);
            Request request;
            request.view = {shape, 0, std::int64_t(range)};
            request.positions = {0, shape->bytes};
            facts.touched = {std::min(facts.touched.begin, touched(request).begin),
                             std::max(facts.touched.end, touched(request).end)};
            facts.pieces += count;
            requests.push_back(request);
        }
    }
    static Extent touched(Request const& request) {
        return unisono::touched(request.view, request.positions);
    }
};

bool holds(std::vector<Extent> const& extents, Extent part) {
    return std::ranges::any_of(extents, [&](Extent const& extent) {
        return extent.begin <= part.begin && part.end <= extent.end;
    });
}

std::uint64_t bytes_of(std::vector<Extent> const& extents) {
    std::uint64_t bytes = 0;
    for (auto const& extent : extents) bytes += extent.bytes();
    return bytes;
}

std::vector<std::vector<Extent>> found(Scattered const& call, Topology const& topology,
                                       Team::Among among, std::uint64_t* reductions = nullptr) {
    std::vector<std::vector<Extent>> wanted(call.requests.size());
    ThreadTeams teams{topology};
    teams.run([&](Team& team, Rendezvous&) {
        wanted[team.rank()] = find_wanted(team, among, call.facts, call.requests[team.rank()]);
        if (reductions != nullptr && team.rank() == 0) *reductions = team.traffic().reductions;
    });
    return wanted;
}

TEST(FindWanted, has_all_that_anybody_asks_for_and_no_cell_that_nobody_does) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        Scattered const call{engine, 3, 1 + engine() % 20, 3000, 16 << 20};
        auto const wanted = found(call, make_topology({0, 0, 1}), Team::Among::all);
        for (auto const& ranks : wanted) EXPECT_EQ(ranks, wanted[0]) << "equal on all ranks";
        std::uint64_t pieces = 0;
        for (auto const& request : call.requests)
            walk(request.view, request.positions, [&](std::int64_t offset, std::uint64_t bytes) {
                EXPECT_TRUE(
                    holds(wanted[0], {std::uint64_t(offset), std::uint64_t(offset) + bytes}));
                ++pieces;
            });
        EXPECT_LE(bytes_of(wanted[0]), pieces * 2 * 4096) << "a piece is in two cells at most";
        for (std::size_t i = 1; i < wanted[0].size(); ++i)
            EXPECT_LT(wanted[0][i - 1].end, wanted[0][i].begin);
        EXPECT_EQ(wanted[0].front().begin, call.facts.touched.begin);
        EXPECT_EQ(wanted[0].back().end, call.facts.touched.end);
    }
}

TEST(FindWanted, of_a_node_is_what_its_own_ranks_ask_for) {
    std::mt19937_64 engine{1};
    Scattered const call{engine, 4, 5, 3000, 16 << 20};
    auto const wanted = found(call, make_topology({0, 1, 0, 1}), Team::Among::node);
    EXPECT_EQ(wanted[0], wanted[2]);
    EXPECT_EQ(wanted[1], wanted[3]);
    EXPECT_NE(wanted[0], wanted[1]);
    EXPECT_LE(bytes_of(wanted[0]), 10u * 2 * 4096);
}

TEST(FindWanted, takes_few_steps_for_bytes_a_terabyte_apart) {
    std::mt19937_64 engine{2};
    Scattered const call{engine, 2, 4, 8, std::uint64_t{1} << 40};
    std::uint64_t reductions = 0;
    auto const wanted = found(call, make_topology({0, 0}), Team::Among::all, &reductions);
    EXPECT_LE(bytes_of(wanted[0]), 8u * 4096);
    EXPECT_LE(reductions, 3u);
}

TEST(FindWanted, left_holes_for_a_million_rounds_between_many_pieces_far_apart) {
    std::mt19937_64 engine{3};
    Scattered const call{engine, 2, 200, 8, std::uint64_t{1} << 60};
    auto const wanted = found(call, make_topology({0, 1}), Team::Among::all);
    EXPECT_LE(bytes_of(wanted[0]), 400u * 4096);
}

TEST(FindWanted, is_not_asked_where_holes_are_smaller_than_cells) {
    Facts facts{.touched = {0, 1 << 20}, .bytes = 1 << 16, .pieces = 1024};
    EXPECT_FALSE(worth_looking_for_holes(facts)) << "960 bytes between pieces";
    facts.pieces = 64;
    EXPECT_TRUE(worth_looking_for_holes(facts)) << "15 KiB between pieces";
    facts.bytes = facts.touched.bytes();
    EXPECT_FALSE(worth_looking_for_holes(facts)) << "no holes";
    EXPECT_FALSE(worth_looking_for_holes({}));
}

}  // namespace
}  // namespace unisono
