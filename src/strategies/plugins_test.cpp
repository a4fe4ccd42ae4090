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

// A field more in Strategy went unnoticed, and what is called "auto" can be named by nobody.
TEST(Plugins, for_another_version_or_by_the_name_of_another_are_not_used) {
    auto const* const any = find_strategy("independent");
    ASSERT_NE(any, nullptr);
    Plugin plugin{.strategy = *any};
    auto const with_name = [&](std::string_view name) {
        plugin.strategy.name = name;
        return what_is_wrong(plugin);
    };
    EXPECT_EQ(with_name("mine"), "");
    EXPECT_EQ(with_name(""), "its strategy has no name, no unfit or no plan");
    EXPECT_EQ(with_name("auto"), "there is a strategy auto already");
    EXPECT_EQ(with_name("independent"), "there is a strategy independent already");
    for (auto const size : {&Plugin::version, &Plugin::facts_bytes, &Plugin::plan_bytes,
                            &Plugin::options_bytes, &Plugin::strategy_bytes}) {
        auto other = plugin;
        ++(other.*size);
        EXPECT_EQ(what_is_wrong(other), "it was built for another version of Unisono");
    }
}

}  // namespace
}  // namespace unisono
