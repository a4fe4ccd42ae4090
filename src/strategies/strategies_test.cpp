#include <gtest/gtest.h>

#include "strategies/all.hpp"

namespace unisono {
namespace {

TEST(Strategies, names_are_unique_and_found) {
    for (auto const* strategy : all_strategies())
        EXPECT_EQ(find_strategy(strategy->name), strategy);
    EXPECT_EQ(find_strategy("three_phase"), nullptr);
}

}  // namespace
}  // namespace unisono
