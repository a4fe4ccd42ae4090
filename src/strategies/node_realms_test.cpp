#include "strategies/node_realms.hpp"

#include <gtest/gtest.h>

#include "strategies/all.hpp"
#include "strategies/check_plan.hpp"
#include "strategies/scene.hpp"

namespace unisono {
namespace {

// 6 ranks with 10 bytes each from 100 on, two of them on the second node.
TEST(RangesOfNodes, are_known_where_ranks_ask_for_equal_parts_in_order) {
    auto topology = make_topology({0, 0, 0, 1, 1, 2});
    Facts facts{.topology = &topology, .touched = {100, 160}, .bytes = 60};
    facts.loops = {.piece_bytes = 10, .loops = {}};
    EXPECT_EQ(ranges_of_nodes(facts), (std::vector<Extent>{{100, 130}, {130, 150}, {150, 160}}));
    facts.touched.end = 161;
    EXPECT_TRUE(ranges_of_nodes(facts).empty()) << "a hole";
    facts.touched.end = 160;
    facts.rank_ordered = false;
    EXPECT_TRUE(ranges_of_nodes(facts).empty()) << "in another order";
    facts.rank_ordered = true;
    facts.loops = {};
    EXPECT_TRUE(ranges_of_nodes(facts).empty()) << "not equal";
    facts.loops = {.piece_bytes = 10, .loops = {}};
    topology = make_topology({0, 1, 0, 1, 0, 1});
    EXPECT_TRUE(ranges_of_nodes(facts).empty()) << "ranks dealt in turn";
}

constexpr std::uint64_t unit = 64 << 10;

// 4 MiB of two nodes with two ranks each, whose stripes of 64 KiB four servers have in turn.
class NodeRealms : public testing::Test {
protected:
    Topology topology_ = make_topology({0, 0, 1, 1});
    Layout layout_ = round_robin_layout(unit, 4);
    std::vector<CellHolder> cells_;
    Facts facts_{.topology = &topology_,
                 .layout = &layout_,
                 .touched = {0, 64 * unit},
                 .bytes = 64 * unit,
                 .rank_ordered = false,
                 .cells = {},
                 .cell_bytes = unit};

    // Who holds how much of cell i.
    template <class HolderOf>
    void hold(HolderOf&& holder_of) {
        cells_.clear();
        for (std::uint32_t cell = 0; cell < 64; ++cell) cells_.push_back(holder_of(cell));
        facts_.cells = cells_;
    }
    [[nodiscard]] Plan plan(Options const& options = {}) const {
        return two_phase.plan(facts_, options);
    }
    // The stripes of each aggregator.
    [[nodiscard]] static std::vector<std::vector<std::uint64_t>> stripes(Plan const& plan) {
        std::vector<std::vector<std::uint64_t>> all;
        for (auto const& realm : plan.realms) {
            auto& stripes = all.emplace_back();
            for (auto at = realm.positions.begin; at < realm.positions.end; at += unit)
                stripes.push_back(static_cast<std::uint64_t>(offset_of(realm.tiling, at)) / unit);
        }
        return all;
    }
};

TEST_F(NodeRealms, are_the_cells_of_which_its_ranks_ask_for_most) {
    hold([](std::uint32_t cell) { return CellHolder{cell / 4 % 2, unit}; });
    auto const plan = this->plan();
    EXPECT_EQ(plan.aggregators, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    auto const owned = stripes(plan);
    EXPECT_EQ(owned[0], (std::vector<std::uint64_t>{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24,
                                                    25, 26, 27}));
    EXPECT_EQ(owned[1].front(), 32u);
    EXPECT_EQ(owned[2].front(), 4u);
    EXPECT_EQ(owned[3].back(), 63u);
}

TEST_F(NodeRealms, lie_within_what_is_touched_and_leave_out_what_nobody_asks_for) {
    facts_.touched = {100, 64 * unit - 100};
    hold([](std::uint32_t cell) { return CellHolder{cell / 4 % 2, cell % 4 == 3 ? 0 : unit}; });
    facts_.bytes = 48 * unit;
    auto const plan = this->plan();
    EXPECT_EQ(touched(plan.realms[0]).begin, 100u);
    EXPECT_EQ(touched(plan.realms[1]).begin % unit, 0u) << "cut between cells";
    EXPECT_EQ(touched(plan.realms[3]).end, 63 * unit);
    std::uint64_t bytes = 0;
    for (auto const& realm : plan.realms) bytes += realm.bytes();
    EXPECT_EQ(bytes, 48 * unit - 100);
    EXPECT_EQ(check_plan(facts_, plan), "");
    facts_.cells = {};
    EXPECT_NE(check_plan(facts_, plan), "") << "nobody knows of holes";
}

// Ranks' pieces are mixed: whoever owns a cell, half of it goes to the other node.
TEST_F(NodeRealms, are_even_ranges_where_that_keeps_links_no_busier) {
    hold([](std::uint32_t cell) { return CellHolder{cell % 2, unit / 2 + 100}; });
    EXPECT_EQ(stripes(plan())[1].front(), 16u);
    hold([](std::uint32_t cell) { return CellHolder{cell < 4 ? 1U : 0U, unit}; });
    EXPECT_EQ(stripes(plan())[1].front(), 16u) << "one node's link would carry nearly the file";
    hold([](std::uint32_t cell) { return CellHolder{cell / 4 % 2, unit}; });
    Options options;
    options.cb_nodes = 2;
    EXPECT_EQ(stripes(plan(options)).size(), 2u) << "the user has said who aggregates";
}

TEST_F(NodeRealms, are_looked_for_where_calls_are_large_and_nodes_share_the_file) {
    facts_.bytes = 8 << 20;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), unit) << "nobody knows whether stripes are locked";
    facts_.layout = nullptr;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 0u) << "nobody knows stripes";
    facts_.layout = &layout_;
    layout_.source = "lustre";
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), unit);
    facts_.links = Links::busy;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), unit);
    layout_.source = "pocketfs";
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 16u << 10);
    layout_.source = "lustre";
    facts_.direction = Direction::read;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 16u << 10);
    facts_.links = Links::unknown;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 64u << 10);
    facts_.links = Links::fast;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 64u << 10) << "requests would cost more than links";
    facts_.touched.end = std::uint64_t{1} << 40;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), std::uint64_t{1} << 28) << "4096 cells at most";
    facts_.bytes = 4 << 20;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 0u) << "2 MiB a node";
    facts_.bytes = std::uint64_t{1} << 40;
    facts_.direction = Direction::write;
    facts_.page_cached = true;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 0u) << "nodes must not share pages";
    facts_.page_cached = false;
    facts_.local_storage = true;
    EXPECT_EQ(cell_bytes_of_nodes(facts_, {}), 0u);
}

}  // namespace
}  // namespace unisono
