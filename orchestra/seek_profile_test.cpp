#include "orchestra/seek_profile.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace unisono::orchestra {
namespace {

// A disk of 1000 sectors; 2 ms to the middle, 3 ms to the end.
TEST(SeekProfile, is_linear_between_its_points) {
    auto const profile = SeekProfile::from_points({{0, 1}, {0.5, 2}, {1, 3}}, 512'000);
    ASSERT_TRUE(profile);
    EXPECT_DOUBLE_EQ(profile->at_ms(0), 0) << "the very next sector";
    EXPECT_DOUBLE_EQ(profile->at_ms(250), 1.5);
    EXPECT_DOUBLE_EQ(profile->at_ms(750), 2.5);
    EXPECT_DOUBLE_EQ(profile->at_ms(5000), 3);
}

TEST(SeekProfile, points_that_fall_are_refused) {
    EXPECT_FALSE(SeekProfile::from_points({{0, 2}, {1, 1}}, 1e9));
    EXPECT_FALSE(SeekProfile::from_points({{0.5, 1}, {0.5, 2}}, 1e9));
    EXPECT_FALSE(SeekProfile::from_points({{0, 1}}, 0));
}

// Derivation: a quarter of the disk away: 4.1667 + 0.6 + (8.0 - 0.6) * 15/8 * sqrt(1/4) = 11.704
// ms.
TEST(SeekProfile, a_desktop_drive_by_hand) {
    auto const ms = SeekProfile::desktop_7200rpm(512e6).at_ms(250'000);
    std::printf("expectation: 11.70 ms\nresult:      %.2f ms\n", ms);
    EXPECT_NEAR(ms, 11.704, 0.05) << "linear between points that double";
}

TEST(SeekProfile, is_found_by_name_or_file) {
    std::string problem;
    EXPECT_DOUBLE_EQ(SeekProfile::find("none", 1e9, problem)->at_ms(1e6), 0);
    EXPECT_FALSE(SeekProfile::find("/nowhere", 1e9, problem));
    EXPECT_NE(problem.find("valid is 7200rpm, none"), std::string::npos);
    auto const path = std::filesystem::path(testing::TempDir()) / "seek.json";
    std::ofstream(path) << R"({"points": [[0, 4], [1, 20]]})";
    EXPECT_DOUBLE_EQ(SeekProfile::find(path, 512e3, problem)->at_ms(500), 12);
    std::ofstream(path) << R"({"points": [[0, 4], [1, 2]]})";
    EXPECT_FALSE(SeekProfile::find(path, 512e3, problem));
    EXPECT_NE(problem.find("must ascend"), std::string::npos);
}

}  // namespace
}  // namespace unisono::orchestra
