#include "support/installation.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace unisono {
namespace {

TEST(SiteFolder, lies_beside_the_folder_of_libraries_and_programs) {
    EXPECT_EQ(site_folder_of("/opt/unisono/lib/libunisono-mpich-engine.so"), "/opt/unisono/etc");
    EXPECT_EQ(site_folder_of("/opt/unisono/bin/unisono-strategies"), "/opt/unisono/etc");
    EXPECT_EQ(site_folder_of("/lib/libunisono-mpich-engine.so"), "/etc");
}

TEST(SiteFolder, is_the_systems_where_the_distribution_installed_unisono) {
    EXPECT_EQ(site_folder_of("/usr/lib/libunisono-mpich-engine.so"), "/etc");
    EXPECT_EQ(site_folder_of("/usr/local/lib/libunisono-mpich-engine.so"), "/usr/local/etc");
}

// Ranks went on after their library was replaced on disk: the kernel says so behind its name.
TEST(SiteFolder, stays_where_the_library_was_replaced) {
    EXPECT_EQ(site_folder_of("/opt/unisono/lib/libunisono-mpich-engine.so (deleted)"),
              "/opt/unisono/etc");
}

TEST(SiteFolder, is_empty_where_there_is_none) {
    EXPECT_EQ(site_folder_of(""), "");
    EXPECT_EQ(site_folder_of("engine.so"), "");
    EXPECT_EQ(site_folder_of("lib/engine.so"), "");
    EXPECT_EQ(site_folder_of("/engine.so"), "");
}

TEST(SiteFolder, of_this_program_is_found_whatever_name_it_was_started_by) {
    EXPECT_EQ(site_folder(),
              site_folder_of(std::filesystem::read_symlink("/proc/self/exe").string()));
}

}  // namespace
}  // namespace unisono
