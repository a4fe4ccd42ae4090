#include "unisono/loops.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

// 3 planes of 4 rows of 2 pieces of 8 bytes.
Tiling block() {
    auto const row = make_repeat(2, 16, make_dense(8));
    return {make_repeat(3, 4096, make_repeat(4, 256, row)), 1000, 1 << 20};
}

TEST(Loops, of_a_whole_type_are_its_loops) {
    auto const loops = loops_of(block(), {0, 192});
    EXPECT_EQ(loops.piece_bytes, 8u);
    EXPECT_EQ(loops.loops, (std::vector<Loops::Loop>{{2, 16}, {4, 256}, {3, 4096}}));
}

TEST(Loops, of_some_rows_and_of_several_tiles) {
    EXPECT_EQ(loops_of(block(), {16, 48}).loops, (std::vector<Loops::Loop>{{2, 16}, {2, 256}}));
    EXPECT_EQ(loops_of(block(), {192, 576}).loops.back(), (Loops::Loop{2, 1 << 20}));
}

TEST(Loops, merge_what_touches) {
    Tiling const rows{make_repeat(4, 64, make_dense(16)), 0, 256};
    EXPECT_EQ(loops_of(rows, {0, 640}).loops, (std::vector<Loops::Loop>{{40, 64}}));
    Tiling const plain{make_dense(1), 5, 1};
    EXPECT_EQ(loops_of(plain, {7, 100}), (Loops{.piece_bytes = 93}));
}

TEST(Loops, are_empty_where_an_interval_cuts_a_loop_or_the_type_is_a_list) {
    EXPECT_TRUE(loops_of(block(), {8, 32}).empty());
    EXPECT_TRUE(loops_of(block(), {0, 20}).empty());
    EXPECT_TRUE(loops_of(block(), {5, 5}).empty());
    std::int64_t const offsets[] = {0, 10, 100};
    std::uint64_t const lengths[] = {4, 5, 6};
    EXPECT_TRUE(loops_of({make_blocks(offsets, lengths), 0, 200}, {0, 15}).empty());
}

}  // namespace
}  // namespace unisono
