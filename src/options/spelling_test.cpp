#include "options/spelling.hpp"

#include <gtest/gtest.h>

#include <array>

namespace unisono {
namespace {

TEST(EditDistance, counts_letters_put_in_taken_out_replaced_and_swapped) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("report", "report"), 0u);
    EXPECT_EQ(edit_distance("reprt", "report"), 1u);
    EXPECT_EQ(edit_distance("repport", "report"), 1u);
    EXPECT_EQ(edit_distance("rebort", "report"), 1u);
    EXPECT_EQ(edit_distance("reprot", "report"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(LikelyMeant, is_the_nearest_name_and_nothing_where_none_is_near) {
    constexpr std::array<std::string_view, 4> names{"REPORT", "REPORT_FILE", "SELECT", "TUNE"};
    EXPECT_EQ(likely_meant("REPROT", names), "REPORT");
    EXPECT_EQ(likely_meant("REPORTFILE", names), "REPORT_FILE");
    EXPECT_EQ(likely_meant("TUEN", names), "TUNE");
    EXPECT_EQ(likely_meant("COLOUR", names), "");
    EXPECT_EQ(likely_meant("", names), "");
}

}  // namespace
}  // namespace unisono
