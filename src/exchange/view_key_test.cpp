#include <gtest/gtest.h>

#include <vector>

#include "exchange/view_directory.hpp"

namespace unisono {
namespace {

using Offsets = std::vector<std::int64_t>;

ViewKey key_of_blocks(Offsets const& offsets) {
    return key_of(*make_blocks(offsets, std::vector<std::uint64_t>(offsets.size(), 8)));
}

TEST(ViewKey, is_that_of_the_content) {
    EXPECT_EQ(key_of_blocks({0, 100, 150}), key_of_blocks({0, 100, 150}));
    auto const blocks = make_repeat(2, 256, make_dense(8));
    EXPECT_EQ(key_of(*blocks), key_of(*make_shifted(blocks, 50))) << "displacement apart";
}

TEST(ViewKey, differs_where_any_offset_or_length_does) {
    auto const key = key_of_blocks({0, 100, 150});
    EXPECT_NE(key, key_of_blocks({0, 101, 150}));
    EXPECT_NE(key, key_of_blocks({0, 100}));
    EXPECT_NE(key,
              key_of(*make_blocks(Offsets{0, 100, 150}, std::vector<std::uint64_t>{8, 16, 8})));
}

TEST(ViewKey, differs_where_the_same_parts_are_nested_otherwise) {
    auto const rows = make_repeat(4, 64, make_repeat(2, 16, make_dense(8)));
    auto const columns = make_repeat(2, 64, make_repeat(4, 16, make_dense(8)));
    EXPECT_NE(key_of(*rows), key_of(*columns));
}

}  // namespace
}  // namespace unisono
