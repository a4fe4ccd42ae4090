#include "explain/explain.hpp"

#include <gtest/gtest.h>

#include "explain/explain_json.hpp"
#include "explain/pattern.hpp"
#include "strategies/all.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t piece_bytes = 4096;

// Eight ranks on two nodes, eight pieces each, in turn, on four servers.
Scene strided_scene() {
    return {
        .topology = make_topology({0, 0, 0, 0, 1, 1, 1, 1}),
        .layout = round_robin_layout(4 * piece_bytes, 4),
        .requests = find_pattern("strided")->requests({.ranks = 8, .piece_bytes = piece_bytes})};
}

std::uint64_t accessed_bytes(Explained const& explained) {
    std::uint64_t bytes = 0;
    for (auto const& rank : explained.by_rank) bytes += rank.bytes;
    return bytes;
}

std::uint64_t extents(Explained const& explained) {
    std::uint64_t count = 0;
    for (auto const& rank : explained.by_rank) count += rank.extents;
    return count;
}

TEST(Explain, every_strategy_accesses_every_byte_and_each_byte_goes_one_way) {
    for (auto const direction : {Direction::write, Direction::read})
        for (auto const* strategy : all_strategies()) {
            SCOPED_TRACE(strategy->name);
            auto scene = strided_scene();
            scene.direction = direction;
            auto const explained = explain(scene, strategy->name);
            if (explained.native || !explained.refusal.empty()) continue;
            EXPECT_EQ(explained.strategy, strategy->name);
            // Aggregators may read what lies between, and who caches makes the file long enough.
            if (direction == Direction::write && explained.plan.way != Plan::Way::cached) {
                EXPECT_EQ(accessed_bytes(explained), 64 * piece_bytes);
            }
            EXPECT_GE(accessed_bytes(explained), 64 * piece_bytes);
            auto const& way = explained.way;
            EXPECT_EQ(way.own + way.on_node + way.between_nodes, 64 * piece_bytes);
        }
}

TEST(Explain, independent_has_one_extent_a_piece_and_no_messages) {
    auto const explained = explain(strided_scene(), "independent");
    EXPECT_EQ(extents(explained), 64u);
    EXPECT_EQ(explained.traffic.messages, 0u);
    EXPECT_EQ(explained.by_rank[5].bytes, 8 * piece_bytes);
}

TEST(Explain, messages_carry_what_goes_between_nodes_and_a_head) {
    auto const explained = explain(strided_scene(), "two_phase");
    EXPECT_GT(explained.traffic.messages, 0u);
    EXPECT_GE(explained.traffic.message_bytes, explained.way.between_nodes);
    EXPECT_LT(explained.traffic.message_bytes,
              explained.way.between_nodes + 200 * explained.traffic.messages);
    EXPECT_LT(extents(explained), 64u);
}

TEST(Explain, disk_first_gives_each_server_to_one_aggregator) {
    auto const explained = explain(strided_scene(), "disk_first");
    std::vector<std::uint32_t> servers;
    for (auto const& rank : explained.by_rank)
        servers.insert(servers.end(), rank.servers.begin(), rank.servers.end());
    std::ranges::sort(servers);
    EXPECT_EQ(servers, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(Explain, auto_says_what_the_rule_chooses_and_why) {
    EXPECT_EQ(explain(strided_scene(), "auto").strategy, "two_phase");
    auto scene = strided_scene();
    scene.requests = find_pattern("contiguous")->requests({.ranks = 8, .piece_bytes = piece_bytes});
    auto const explained = explain(scene, "auto");
    EXPECT_EQ(explained.strategy, "independent");
    EXPECT_EQ(explained.why, "few contiguous pieces, in rank order");
}

TEST(Explain, a_strategy_that_does_not_fit_says_why_not) {
    auto scene = strided_scene();
    scene.layout = Layout::unknown("test", "");
    EXPECT_FALSE(explain(scene, "disk_first").refusal.empty());
}

TEST(Explain, more_data_than_buffers_take_more_rounds) {
    auto scene = strided_scene();
    scene.options.cb_nodes = 1;
    scene.options.cb_buffer_size = 16 * piece_bytes;
    EXPECT_EQ(explain(scene, "two_phase").rounds, 4u);
}

TEST(ExplainColumns, are_powers_of_two_and_begin_at_multiples) {
    auto const columns = columns_for({5000, 70000}, 16);
    EXPECT_EQ(columns.column_bytes, 8192u);
    EXPECT_EQ(columns.begin, 0u);
    EXPECT_EQ(columns.count, 9u);
}

}  // namespace
}  // namespace unisono
