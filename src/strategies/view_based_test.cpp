#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// Figure 1 and section IV: rank r of four sees the bytes r, r + 4, r + 8, r + 12; ranks 1 and 2
// aggregate, "by using a stripe of 8". Of rank 0 the first aggregator gets the view's bytes 0 to 1,
// the second one 2 to 3, whatever else a call is for.
TEST(ViewBased, a_rank_sends_an_aggregator_its_part_of_the_view_interval_alone) {
    Scene scene{.topology = make_topology({0, 1, 2, 3}),
                .layout = Layout::unknown("test", ""),
                .requests = block_requests(1, {0, 1, 2, 3}, 4, 4)};
    scene.options.cb_buffer_size = 8;
    scene.options.cb_nodes = 2;
    auto const plan = plan_for(view_based, scene);
    EXPECT_EQ(plan.way, Plan::Way::cached);
    EXPECT_EQ(plan.aggregators.size(), 2u);
    EXPECT_EQ(plan.block_bytes, 8u);
    auto const& [view, all] = scene.requests[0];
    for (std::uint64_t block = 0; block < 2; ++block) {
        auto const first = block * plan.block_bytes;
        auto const interval = within(view, all, {first, first + plan.block_bytes});
        EXPECT_EQ(interval.begin, 2 * block);
        EXPECT_EQ(interval.end, 2 * block + 2);
    }
}

TEST(ViewBased, ranks_of_a_node_waited_while_one_of_them_read_a_long_block) {
    auto const block_kib = [](std::vector<std::uint32_t> const& nodes, bool read_only,
                              std::uint64_t cb_buffer_size = 0) {
        auto const topology = make_topology(nodes);
        Layout const layout;
        Options options;
        options.cb_buffer_size = cb_buffer_size;
        Facts const facts{.direction = Direction::read,
                          .topology = &topology,
                          .layout = &layout,
                          .read_only = read_only};
        return view_based.plan(facts, options).block_bytes / 1024;
    };
    EXPECT_EQ(block_kib({0, 0}, true), 512u);
    EXPECT_EQ(block_kib({0, 0}, false), 4096u) << "what is written goes to the file in blocks";
    EXPECT_EQ(block_kib({0, 1}, true), 4096u);
    EXPECT_EQ(block_kib({0, 0}, true, 1 << 20), 1024u) << "asked for";
}

}  // namespace
}  // namespace unisono
