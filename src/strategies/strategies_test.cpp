#include <gtest/gtest.h>

#include "strategies/all.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t MiB = 1024 * 1024;

TEST(Strategies, names_are_unique_and_found) {
    for (auto const* strategy : all_strategies())
        EXPECT_EQ(find_strategy(strategy->name), strategy);
    EXPECT_EQ(find_strategy("three_phase"), nullptr);
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
