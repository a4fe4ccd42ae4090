#include "execute/shared_fills.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace unisono {
namespace {

constexpr std::uint64_t window_bytes = 512 << 10;
constexpr double kept_s = 100e-6;

// Reads that take so long where lines are dropped; how many of the last 64 had them dropped.
int dropped_of(SharedFills& fills, double dropped_s, double kept_seconds = kept_s) {
    int dropped = 0;
    for (int i = 0; i < 128; ++i) {
        auto const drops = fills.drops_first(window_bytes);
        fills.note(drops, window_bytes, drops ? dropped_s : kept_seconds);
        if (i >= 64 && drops) ++dropped;
    }
    return dropped;
}

TEST(SharedFills, drop_lines_where_that_is_faster_and_not_where_it_is_slower) {
    SharedFills far;
    EXPECT_EQ(dropped_of(far, 0.5 * kept_s), 63);
    SharedFills near;
    EXPECT_EQ(dropped_of(near, 1.3 * kept_s), 1);
    SharedFills equal;
    EXPECT_EQ(dropped_of(equal, kept_s), 1);
}

TEST(SharedFills, change_when_ranks_have_been_moved) {
    SharedFills fills;
    EXPECT_EQ(dropped_of(fills, 1.3 * kept_s), 1);
    EXPECT_EQ(dropped_of(fills, 1.3 * kept_s, 3 * kept_s), 63);
    EXPECT_EQ(dropped_of(fills, 1.3 * kept_s), 1);
}

TEST(SharedFills, are_not_tried_again_and_again_the_way_that_is_as_slow_as_a_disk) {
    SharedFills slow_to_drop;
    EXPECT_EQ(dropped_of(slow_to_drop, 20 * kept_s), 1);
    SharedFills moved_apart;
    EXPECT_EQ(dropped_of(moved_apart, 0.5 * kept_s), 63);
    EXPECT_EQ(dropped_of(moved_apart, 0.5 * kept_s, 20 * kept_s), 63);
}

TEST(SharedFills, learn_nothing_from_disks_and_leave_little_alone) {
    SharedFills fills;
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(fills.drops_first(window_bytes));
        fills.note(false, window_bytes, 10e-3);
        EXPECT_FALSE(fills.drops_first(4096));
        fills.note(false, 4096, 1e-6);
    }
}

TEST(SharedFills, have_bytes_where_they_belong) {
    SharedFills fills;
    std::vector<std::byte> memory(window_bytes, std::byte{1});
    int reads = 0;
    for (int i = 0; i < 40; ++i) {
        Transfer const piece{0, memory.data() + 3, window_bytes - 5};
        fills.fill({&piece, 1}, [&] {
            ++reads;
            EXPECT_EQ(memory[window_bytes / 2], std::byte(i == 0 ? 1 : 9 + i))
                << "dropped, not forgotten";
            std::fill_n(piece.memory, piece.bytes, std::byte(10 + i));
        });
    }
    EXPECT_EQ(reads, 40);
    EXPECT_EQ(memory[2], std::byte{1});
    EXPECT_EQ(memory[window_bytes - 2], std::byte{1});
    EXPECT_EQ(memory[3], std::byte{49});
}

}  // namespace
}  // namespace unisono
