#include "strategies/aggregators.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(SpreadOverNodes, takes_turns_over_the_nodes) {
    auto const topology = make_topology({7, 7, 7, 9, 9, 9});
    EXPECT_EQ(spread_over_nodes(topology, 2), (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(spread_over_nodes(topology, 3), (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(spread_over_nodes(topology, 0).size(), 6u);
    EXPECT_EQ(spread_over_nodes(topology, 99).size(), 6u);
}

// Two nodes with four ranks each: 0 to 3, 4 to 7.
class ChooseAggregators : public testing::Test {
protected:
    Topology topology = make_topology({0, 0, 0, 0, 1, 1, 1, 1});
    Options options;
    Facts facts{.topology = &topology};
    using Ranks = std::vector<std::uint32_t>;
};

TEST_F(ChooseAggregators, all_ranks_on_a_nodes_own_file_system) {
    facts.local_storage = true;
    EXPECT_EQ(choose_aggregators(facts, options).size(), 8u);
}

TEST_F(ChooseAggregators, one_for_each_card_of_each_node_where_servers_are_unknown) {
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 4}));
    topology.machine.nics = 2;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 1, 4, 5}));
}

TEST_F(ChooseAggregators, one_for_each_server_where_those_are_more) {
    auto const layout = Layout::of("test", {Striping::round_robin(4096, {0, 1, 2})});
    facts.layout = &layout;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 1, 4}));
    topology.machine.nics = 3;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 1, 2, 4, 5, 6}));
}

TEST_F(ChooseAggregators, no_more_of_a_call_than_stripe_units_that_it_touches) {
    Layout const layout = Layout::of("test", {Striping::round_robin(100, {0, 1, 2, 3, 4, 5})});
    facts.layout = &layout;
    facts.touched = {150, 350};
    EXPECT_EQ(choose_aggregators_of_call(facts, options), (Ranks{0, 1, 4}));
    EXPECT_EQ(choose_aggregators(facts, options).size(), 6u) << "of all calls on the file";
    facts.touched = {150, 151};
    EXPECT_EQ(choose_aggregators_of_call(facts, options), (Ranks{0}));
    options.cb_nodes = 5;
    EXPECT_EQ(choose_aggregators_of_call(facts, options).size(), 5u);
}

// Three servers and two nodes: four aggregators, two on each.
TEST_F(ChooseAggregators, equally_many_of_nodes_rounds_up_to_all_nodes) {
    Layout const layout = Layout::of("test", {Striping::round_robin(100, {0, 1, 2})});
    facts.layout = &layout;
    facts.touched = {0, 1000};
    EXPECT_EQ(choose_equally_many_of_nodes(facts, options), (Ranks{0, 1, 4, 5}));
    EXPECT_EQ(choose_aggregators_of_call(facts, options), (Ranks{0, 1, 4}));
}

TEST_F(ChooseAggregators, equally_many_of_nodes_but_no_more_than_stripe_units) {
    Layout const layout = Layout::of("test", {Striping::round_robin(100, {0, 1, 2})});
    facts.layout = &layout;
    facts.touched = {150, 350};
    EXPECT_EQ(choose_equally_many_of_nodes(facts, options), (Ranks{0, 1, 4}));
}

TEST_F(ChooseAggregators, equally_many_of_nodes_as_far_as_they_have_ranks) {
    topology = make_topology({0, 0, 0, 1});
    Layout const layout = Layout::of("test", {Striping::round_robin(100, {0, 1, 2})});
    facts.layout = &layout;
    facts.touched = {0, 1000};
    EXPECT_EQ(choose_equally_many_of_nodes(facts, options), (Ranks{0, 1, 2, 3}));
}

TEST_F(ChooseAggregators, equally_many_of_nodes_where_nobody_has_said_how_many) {
    options.cb_nodes = 3;
    EXPECT_EQ(choose_equally_many_of_nodes(facts, options), (Ranks{0, 1, 4}));
}

TEST_F(ChooseAggregators, cb_nodes_says_how_many) {
    options.cb_nodes = 3;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 1, 4}));
    options.cb_nodes = 100;
    EXPECT_EQ(choose_aggregators(facts, options).size(), 8u);
}

TEST_F(ChooseAggregators, cb_config_list_says_where_and_with_cb_nodes_how_many_of_those) {
    topology.names = {"alpha", "beta"};
    options.cb_config_list = "beta:3";
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{4, 5, 6}));
    options.cb_nodes = 2;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{4, 5}));
    options.cb_config_list = "*:1";
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 4}));
}

TEST_F(ChooseAggregators, a_cb_config_list_that_allows_nobody_does_not_count) {
    topology.names = {"alpha", "beta"};
    options.cb_config_list = "gamma:3";
    options.cb_nodes = 2;
    EXPECT_EQ(choose_aggregators(facts, options), (Ranks{0, 4}));
}

TEST(WithMostBytes, ties_go_to_the_lowest_rank_and_the_result_ascends) {
    std::vector<RankFacts> const ranks{{{}, 5}, {{}, 9}, {{}, 5}, {{}, 9}};
    auto const topology = make_topology({0, 0, 0, 0});
    Facts const facts{.topology = &topology, .ranks = ranks};
    EXPECT_EQ(with_most_bytes(facts, {0, 1, 2, 3}, 1), (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(with_most_bytes(facts, {0, 1, 2, 3}, 3), (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(with_most_bytes(facts, {0, 2}, 9), (std::vector<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace unisono
