#include "strategies/plugins.hpp"

#include <gtest/gtest.h>

#include "strategies/all.hpp"

namespace unisono {
namespace {

TEST(Plugins, add_a_strategy_once) {
    EXPECT_EQ(find_strategy("one_writer"), nullptr);
    EXPECT_EQ(load_plugins(std::string{":"} + EXAMPLE + ":"), std::vector<std::string>{});
    auto const* const strategy = find_strategy("one_writer");
    ASSERT_NE(strategy, nullptr);

    auto const topology = make_topology({0, 0, 0});
    auto const plan = strategy->plan({.topology = &topology, .touched = {100, 5000}}, {});
    ASSERT_EQ(plan.realms.size(), 1u);
    EXPECT_EQ(touched(plan.realms[0]), (Extent{100, 5000}));

    auto const messages = load_plugins(EXAMPLE);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].find("there is a strategy one_writer already"), std::string::npos);
}

TEST(Plugins, that_cannot_be_used_are_named_and_the_others_are_loaded) {
    auto const messages = load_plugins(std::string{"/nowhere/lib.so:"} + NO_PLUGIN);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_NE(messages[0].find("/nowhere/lib.so"), std::string::npos);
    EXPECT_NE(messages[1].find("exports no unisono_plugin"), std::string::npos);
}

}  // namespace
}  // namespace unisono
