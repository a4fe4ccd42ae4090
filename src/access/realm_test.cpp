#include "unisono/realm.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(Realm, contiguous_positions_are_offsets) {
    auto const realm = contiguous_realm({100, 250});
    EXPECT_EQ(realm.bytes(), 150u);
    EXPECT_EQ(touched(realm), (Extent{100, 250}));
    EXPECT_EQ(touched(within(realm, {0, 120})), (Extent{100, 120}));
    EXPECT_TRUE(within(realm, {250, 300}).empty());
    EXPECT_TRUE(contiguous_realm({7, 7}).empty());
}

// Units of 10 at 20, 50, 80, 110: the range [25, 115) cuts the first and the last in two.
TEST(Realm, stripes_are_clipped_to_the_range_at_both_ends) {
    auto const realm = striped_realm(20, 10, 30, {25, 115});
    EXPECT_EQ(realm.bytes(), 5u + 10 + 10 + 5);
    EXPECT_EQ(touched(realm), (Extent{25, 115}));
    EXPECT_EQ(within(realm, {30, 50}).bytes(), 0u) << "between two stripes";
    EXPECT_EQ(within(realm, {0, 85}).bytes(), 5u + 10 + 5);
    EXPECT_TRUE(striped_realm(20, 10, 30, {0, 20}).empty());
}

TEST(Realm, bytes_in_common_with_a_view_are_counted_from_either_side) {
    Tiling const pieces{make_dense(4), 2, 16};  // [2, 6) [18, 22) [34, 38) ...
    auto const stripes = striped_realm(0, 20, 40, {0, 80});
    EXPECT_EQ(common_bytes(pieces, {0, 12}, stripes), 4u + 2 + 0);
    EXPECT_EQ(common_bytes(pieces, {0, 400}, striped_realm(0, 20, 40, {0, 1 << 20})),
              common_bytes({make_dense(20), 0, 40}, {0, 820}, {pieces, {0, 400}}));
    EXPECT_EQ(common_bytes(pieces, {0, 0}, stripes), 0u);
}

}  // namespace
}  // namespace unisono
