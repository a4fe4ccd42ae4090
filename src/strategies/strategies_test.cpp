#include <gtest/gtest.h>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;

std::string show(std::vector<Extent> const& realms) {
    std::string text;
    for (std::size_t i = 0; i < realms.size(); ++i)
        text += "a" + std::to_string(i) + " [" + std::to_string(realms[i].begin / KiB) + "K, " +
                std::to_string(realms[i].end / KiB) + "K)  ";
    return text;
}

// [1.5, 6) MiB touches units 1..5: 5 units over 2 aggregators = 3 + 2, cut at 4 MiB.
TEST(SplitEvenly, cut_is_aligned_when_the_range_begins_in_mid_unit) {
    EXPECT_EQ(show(split_evenly({3 * MiB / 2, 6 * MiB}, 2, MiB)),
              "a0 [1536K, 4096K)  a1 [4096K, 6144K)  ");
}

TEST(SplitEvenly, more_realms_than_units_leaves_the_last_ones_empty) {
    auto const realms = split_evenly({10, 4097}, 4, 4096);
    EXPECT_EQ(realms[0], (Extent{10, 4096}));
    EXPECT_EQ(realms[1], (Extent{4096, 4097}));
    EXPECT_TRUE(realms[2].empty());
    EXPECT_TRUE(realms[3].empty());
}

TEST(SplitEvenly, realms_tile_any_range) {
    for (std::uint64_t begin : {0, 1, 4095, 4096, 12345})
        for (std::uint64_t bytes : {0, 1, 4096, 100000})
            for (std::uint32_t count : {1, 2, 3, 7, 16})
                for (std::uint64_t unit : {1, 512, 4096}) {
                    auto at = begin;
                    for (auto const& realm : split_evenly({begin, begin + bytes}, count, unit)) {
                        EXPECT_EQ(realm.begin, at);
                        EXPECT_TRUE(realm.begin % unit == 0 || realm.begin == begin ||
                                    realm.begin == begin + bytes);
                        at = realm.end;
                    }
                    EXPECT_EQ(at, begin + bytes);
                }
}

TEST(SpreadOverNodes, takes_turns_over_the_nodes) {
    auto const topology = make_topology({7, 7, 7, 9, 9, 9});
    EXPECT_EQ(spread_over_nodes(topology, 2), (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(spread_over_nodes(topology, 3), (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(spread_over_nodes(topology, 0).size(), 6u);
    EXPECT_EQ(spread_over_nodes(topology, 99).size(), 6u);
}

TEST(Strategies, names_are_unique_and_found) {
    for (auto const* strategy : all_strategies())
        EXPECT_EQ(find_strategy(strategy->name), strategy);
    EXPECT_EQ(find_strategy("three_phase"), nullptr);
}

TEST(TwoPhase, refuses_views_whose_offsets_do_not_ascend) {
    EXPECT_FALSE(two_phase.unfit({.ascending = false}).empty());
    EXPECT_TRUE(two_phase.unfit({.ascending = true}).empty());
}

TEST(Independent, maps_only_overwrites_of_large_pieces) {
    auto const topology = make_topology({0, 0, 0, 0});
    Facts facts{.direction = Direction::write,
                .topology = &topology,
                .bytes = 16 * MiB,
                .pieces = 64,
                .mappable = true,
                .allocated = true};
    EXPECT_TRUE(independent.plan(facts).mapped);
    facts.allocated = false;
    EXPECT_FALSE(independent.plan(facts).mapped) << "a mapping cannot grow the file";
    facts.allocated = true;
    facts.pieces = 16 * 1024;
    EXPECT_FALSE(independent.plan(facts).mapped) << "pages are shared between ranks";
    facts.pieces = 64;
    facts.direction = Direction::read;
    EXPECT_FALSE(independent.plan(facts).mapped) << "pread copies as fast";
}

}  // namespace
}  // namespace unisono
