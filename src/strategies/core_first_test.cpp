#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

Scene two_nodes() {
    auto scene = interleaved(4, 4, 2);
    scene.topology = make_topology({0, 0, 1, 1});
    return scene;
}

// Orthrus, section 2.2: the aggregator is the process of the node that asks for most.
TEST(CoreFirst, each_nodes_aggregator_is_the_rank_that_asks_for_most) {
    auto scene = two_nodes();
    scene.requests[3].positions.end = 3 * block;
    auto const plan = plan_for(core_first, scene);
    EXPECT_TRUE(plan.within_nodes);
    EXPECT_EQ(plan.aggregators, (std::vector<std::uint32_t>{0, 3}));
    EXPECT_EQ(touched(plan.realms[0]), (Extent{0, 6 * block}));
    EXPECT_EQ(touched(plan.realms[1]), (Extent{2 * block, 12 * block}));
}

TEST(CoreFirst, takes_what_the_nodes_own_ranks_ask_for) {
    auto const scene = two_nodes();
    SceneFacts const known{scene};
    EXPECT_EQ(draw(scene, known.facts, core_first.plan(known.facts, scene.options), block),
              "block             |0  |1  |2  |3  |4  |5  |6  |7  |\n"
              "on server         |0  |1  |2  |3  |0  |1  |2  |3  |\n"
              "asked for by rank |0  |1  |2  |3  |0  |1  |2  |3  |\n"
              "a0 rank 0         |===|===|   |   |===|===|   |   |\n"
              "a1 rank 2         |   |   |===|===|   |   |===|===|\n");
}

TEST(CoreFirst, cb_config_list_allows_several_aggregators_on_a_node) {
    auto scene = two_nodes();
    scene.options.cb_config_list = "*:2";
    auto const plan = plan_for(core_first, scene);
    EXPECT_EQ(plan.aggregators, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(touched(plan.realms[0]), (Extent{0, 3 * block}));
    EXPECT_EQ(touched(plan.realms[1]), (Extent{3 * block, 6 * block}));
}

TEST(CoreFirst, a_node_that_asks_for_nothing_owns_nothing) {
    auto scene = two_nodes();
    scene.requests[2].positions = scene.requests[3].positions = {};
    EXPECT_TRUE(plan_for(core_first, scene).realms[1].empty());
}

TEST(CoreFirst, nodes_that_write_whole_pages_back_must_not_share_one) {
    auto const scene = two_nodes();
    SceneFacts known{scene};
    EXPECT_EQ(core_first.unfit(known.facts), "");
    known.facts.page_cached = true;
    EXPECT_EQ(core_first.unfit(known.facts),
              "this file system writes whole pages back, and nodes may share one");
}

}  // namespace
}  // namespace unisono
