#include <gtest/gtest.h>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t cell_bytes = 4 * KiB;

Scene lattice(std::vector<std::uint64_t> const& extent, std::vector<std::uint64_t> const& parts) {
    return unisono::lattice(cell_bytes, extent, parts);
}

// 6 rows of 4 cells, 2 x 2 ranks: ranks 0 and 1 share rows 0 to 2, ranks 2 and 3 the others.
TEST(Transpose, ranks_that_share_rows_take_some_of_the_rows_each) {
    auto const scene = lattice({4, 6}, {2, 2});
    SceneFacts const known{scene};
    ASSERT_EQ(transpose.unfit(known.facts), "");
    auto const text =
        draw(scene, known.facts, transpose.plan(known.facts, scene.options), 2 * cell_bytes);
    EXPECT_EQ(text.substr(text.find("asked")),
              "asked for by rank |0  |1  |0  |1  |0  |1  |2  |3  |2  |3  |2  |3  |\n"
              "a0 rank 0         |===|===|===|   |   |   |   |   |   |   |   |   |\n"
              "a1 rank 1         |   |   |   |===|===|===|   |   |   |   |   |   |\n"
              "a2 rank 2         |   |   |   |   |   |   |===|===|===|   |   |   |\n"
              "a3 rank 3         |   |   |   |   |   |   |   |   |   |===|===|===|\n");
}

// 8^4 cells of 4 KiB = 16 MiB on 2^4 ranks. Pieces of 16 KiB become 128 KiB (x), 1 MiB (y) and
// 8 MiB (z), which is enough; the slowest dimension stays split. So 8 ranks share one row of 8 MiB.
TEST(Transpose, a_lattice_of_four_dimensions_ends_in_long_runs) {
    auto const scene = lattice({8, 8, 8, 8}, {2, 2, 2, 2});
    ASSERT_EQ(unfit_for(transpose, scene), "");
    auto const plan = plan_for(transpose, scene);
    ASSERT_EQ(plan.aggregators.size(), 16u);
    for (std::uint32_t i = 0; i < 16; ++i) {
        EXPECT_EQ(plan.aggregators[i], i);
        EXPECT_EQ(piece_estimate(plan.realms[i].tiling, plan.realms[i].positions), 1u);
        EXPECT_NEAR(double(plan.realms[i].bytes()), double(MiB), double(cell_bytes));
    }
}

TEST(Transpose, joins_no_more_dimensions_than_long_runs_need) {
    auto const scene = lattice({2048, 4, 4}, {2, 2, 2});  // x is 8 MiB, half of it 4 MiB
    EXPECT_EQ(unfit_for(transpose, scene), "pieces are large already");
    auto const halves = lattice({1024, 4, 4}, {2, 2, 2});  // halves of 2 MiB, rows of 4 MiB
    auto const plan = plan_for(transpose, halves);
    EXPECT_EQ(touched(plan.realms[0]).begin, 0u);
    EXPECT_EQ(plan.aggregators.size(), 8u);
    // Ranks 0 and 1 share rows 0 and 1 of planes 0 and 1: two runs of two rows.
    EXPECT_EQ(plan.realms[0].bytes(), 8 * MiB);
    EXPECT_EQ(plan.realms[1].bytes(), 8 * MiB);
    EXPECT_EQ(touched(plan.realms[1]).begin, 16 * MiB);
}

TEST(Transpose, says_what_it_cannot_do) {
    auto scene = lattice({4, 4}, {2, 2});
    scene.requests[3].positions = {};
    EXPECT_EQ(unfit_for(transpose, scene), "not every rank asks for the same loops of pieces");
    EXPECT_EQ(unfit_for(transpose, lattice({4, 4}, {1, 4})),
              "the ranks' pieces form no rows, or overlap");
    EXPECT_EQ(unfit_for(transpose, lattice({4, 4}, {1, 1})),
              "the ranks' pieces form no rows, or overlap");
    auto same = lattice({4, 4}, {2, 2});
    same.requests[1] = same.requests[0];
    EXPECT_EQ(unfit_for(transpose, same), "the ranks' pieces form no rows, or overlap");
    // Ranks 2 and 3 form rows, too, one byte behind those of ranks 0 and 1.
    auto overlap = lattice({4, 4}, {2, 2});
    for (auto const rank : {0, 1}) {
        overlap.requests[rank + 2] = overlap.requests[rank];
        overlap.requests[rank + 2].tiling.origin += 1;
    }
    EXPECT_EQ(unfit_for(transpose, overlap), "the ranks' pieces form no rows, or overlap");
    auto gap = lattice({4, 4}, {2, 2});
    gap.requests[1].tiling.origin += 1;
    EXPECT_EQ(unfit_for(transpose, gap), "the ranks' pieces form no rows, or overlap");
}

TEST(Transpose, nodes_that_write_whole_pages_back_must_not_share_one) {
    auto scene = lattice({4, 6}, {2, 2});
    scene.topology = make_topology({0, 0, 1, 1});
    SceneFacts known{scene};
    known.facts.page_cached = true;
    EXPECT_EQ(transpose.unfit(known.facts),
              "this file system writes whole pages back, and nodes may share one");
}

}  // namespace
}  // namespace unisono
