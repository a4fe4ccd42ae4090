#include "support/process_stat.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace unisono {
namespace {

TEST(ProcessStat, names_may_have_blanks_and_brackets) {
    auto const folder = std::filesystem::path(testing::TempDir()) /
                        ("unisono-process-stat-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "stat")
        << "7 (a (b) c) Z 5 7 3 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0\n";
    auto const stat = process_stat(folder);
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->name, "a (b) c");
    EXPECT_EQ(stat->state, 'Z');
    EXPECT_EQ(stat->parent, 5);
    EXPECT_EQ(stat->session, 3);
    EXPECT_EQ(stat->began, 1234U);
}

TEST(ProcessStat, this_very_process_has_one) {
    auto const stat = process_stat("/proc/self");
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->parent, getppid());
    EXPECT_EQ(stat->session, getsid(0));
    EXPECT_GT(stat->began, 0U);
}

TEST(ProcessStat, is_nothing_where_there_is_no_process) { EXPECT_FALSE(process_stat("/proc/0")); }

}  // namespace
}  // namespace unisono
