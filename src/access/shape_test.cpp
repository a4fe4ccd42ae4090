#include "unisono/shape.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(Shape, a_loop_without_gaps_becomes_dense) {
    EXPECT_EQ(show(*make_repeat(10, 8, make_dense(8))), "dense 80");
}

TEST(Shape, nested_loops_that_continue_each_other_merge) {
    auto const row = make_repeat(4, 16, make_dense(8));
    EXPECT_EQ(show(*make_repeat(3, 64, row)), "12 x 16 [dense 8]");
}

TEST(Shape, regular_index_lists_become_loops) {
    std::vector<std::int64_t> const offsets{8, 24, 40};
    std::vector<std::uint64_t> const lengths{4, 4, 4};
    EXPECT_EQ(show(*make_blocks(offsets, lengths)), "@8 3 x 16 [dense 4]");
}

TEST(Shape, blocks_that_touch_are_one_block_and_empty_ones_vanish) {
    std::vector<std::int64_t> const offsets{0, 8, 100, 200};
    std::vector<std::uint64_t> const lengths{8, 4, 0, 4};
    EXPECT_EQ(show(*make_blocks(offsets, lengths)), "blocks 0+12 200+4");
}

TEST(Shape, a_shifted_list_shares_its_offsets) {
    std::vector<std::int64_t> const offsets{0, 10, 15};
    std::vector<std::uint64_t> const lengths{1, 2, 3};
    auto const list = make_blocks(offsets, lengths);
    auto const moved = make_shifted(list, 100);
    EXPECT_EQ(moved->child, list);
    EXPECT_EQ(moved->low, 100);
    EXPECT_EQ(moved->high, 118);
}

TEST(Shape, ascending_says_whether_offsets_can_be_searched) {
    EXPECT_TRUE(make_repeat(3, 16, make_dense(16 - 1))->ascending);
    EXPECT_FALSE(make_repeat(3, -16, make_dense(8))->ascending);
    auto const wide = make_repeat(3, 32, make_dense(4));
    EXPECT_FALSE(make_repeat(2, 8, wide)->ascending) << "the second row begins inside the first";
}

TEST(Shape, the_lowest_alignment_bit_divides_all_pieces) {
    auto const shape = make_shifted(make_repeat(5, 48, make_dense(16)), 32);
    EXPECT_EQ(shape->alignment & -shape->alignment, 16u);
}

TEST(Shape, empty_parts_leave_nothing) {
    EXPECT_TRUE(make_repeat(0, 8, make_dense(8))->empty());
    EXPECT_TRUE(make_repeat(5, 8, make_dense(0))->empty());
    EXPECT_TRUE(make_list({}, {})->empty());
}

}  // namespace
}  // namespace unisono
