#include "options/hint_text.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace unisono {
namespace {

using Hints = std::vector<KeyValue>;

TEST(ParseSwitch, takes_what_romio_and_ompio_users_write) {
    EXPECT_EQ(parse_switch("ENABLE"), Switch::enable);
    EXPECT_EQ(parse_switch("true"), Switch::enable);
    EXPECT_EQ(parse_switch("disable"), Switch::disable);
    EXPECT_EQ(parse_switch("automatic"), Switch::automatic);
    EXPECT_FALSE(parse_switch("maybe"));
}

TEST(HintFile, has_globs_comments_and_what_to_leave_alone) {
    auto const file = parse_site_file(
        "# our site\n"
        "\n"
        "  /scratch/*.nc : cb_nodes=8 : romio_cb_write=enable\r\n"
        "leave_alone /home/*\n"
        "leave_alone_program solver*\n"
        "*:unisono_strategy=native\n",
        "site");
    EXPECT_TRUE(file.complaints.empty());
    ASSERT_EQ(file.value.specs.size(), 2u);
    EXPECT_EQ(file.value.specs[0].glob, "/scratch/*.nc");
    EXPECT_EQ(file.value.specs[0].hints, (Hints{{"cb_nodes", "8"}, {"romio_cb_write", "enable"}}));
    EXPECT_EQ(file.value.specs[1].hints, (Hints{{"unisono_strategy", "native"}}));
    EXPECT_EQ(file.value.leave_alone, std::vector<std::string>{"/home/*"});
    EXPECT_EQ(file.value.leave_alone_programs, std::vector<std::string>{"solver*"});
}

TEST(HintFile, complains_with_the_line_and_reads_on) {
    auto const file = parse_hint_file("*:cb_nodes\nno colon\n:a=b\n*:cb_nodes=2\n", "hints");
    ASSERT_EQ(file.complaints.size(), 3u);
    EXPECT_NE(file.complaints[1].find("hints line 2"), std::string::npos) << file.complaints[1];
    ASSERT_EQ(file.value.specs.size(), 1u);
}

TEST(HintFile, names_both_forms_of_a_line_only_where_both_are_valid) {
    auto const* const text = "leave_alon /x\nleave_alone\n";
    EXPECT_EQ(
        parse_site_file(text, "site").complaints,
        (std::vector<std::string>{"site line 1: cannot read \"leave_alon /x\"; ignored; valid: "
                                  "glob:key=value:key=value, leave_alone glob, "
                                  "leave_alone_program glob",
                                  "site line 2: cannot read \"leave_alone\"; ignored; valid: "
                                  "glob:key=value:key=value, leave_alone glob, "
                                  "leave_alone_program glob"}));
    EXPECT_EQ(
        parse_hint_file("leave_alone /x\n", "mine").complaints,
        std::vector<std::string>{"mine line 1: cannot read \"leave_alone /x\"; ignored; valid: "
                                 "glob:key=value:key=value"});
}

TEST(HintList, is_what_cray_sites_write) {
    auto const list = parse_hint_list(
        "*/mpsout.d01.*:cb_nodes=8:striping_factor=6,*/MPASPR*:cb_nodes=8,file1:direct_io=true",
        "");
    ASSERT_EQ(list.value.specs.size(), 3u);
    EXPECT_EQ(list.value.specs[0].glob, "*/mpsout.d01.*");
    EXPECT_EQ(list.value.specs[0].hints, (Hints{{"cb_nodes", "8"}, {"striping_factor", "6"}}));
    EXPECT_EQ(list.value.specs[2].hints, (Hints{{"direct_io", "true"}}));
}

TEST(HintList, keeps_colons_and_commas_inside_a_value) {
    auto const list = parse_hint_list("a:cb_config_list=n1:2,n2:3:cb_nodes=5,b:cb_nodes=1,", "");
    ASSERT_EQ(list.value.specs.size(), 2u);
    EXPECT_EQ(list.value.specs[0].hints,
              (Hints{{"cb_config_list", "n1:2,n2:3"}, {"cb_nodes", "5"}}));
    EXPECT_TRUE(list.complaints.empty());
}

TEST(RomioHints, are_lines_of_key_and_value) {
    auto const hints =
        parse_romio_hints("# comment\ncb_nodes 32\n\ncb_config_list  n01,n11:2 \n", "");
    EXPECT_EQ(hints.value, (Hints{{"cb_nodes", "32"}, {"cb_config_list", "n01,n11:2"}}));
    EXPECT_TRUE(hints.complaints.empty());
}

TEST(RomioHints, keep_the_first_of_a_repeated_key_as_romio_does) {
    EXPECT_EQ(parse_romio_hints("cb_nodes 1\ncb_nodes 2\n", "").value, (Hints{{"cb_nodes", "1"}}));
}

TEST(RomioHints, ignore_lines_of_three_words_as_romio_does) {
    EXPECT_EQ(parse_romio_hints("cb_nodes 2 3\ncb_nodes 4\ncb_nodes 5 \t\r\n", "").value,
              (Hints{{"cb_nodes", "4"}}));
}

TEST(RomioHints, complain_of_lines_that_are_ignored) {
    EXPECT_EQ(parse_romio_hints("cb_nodes 4\nzzz\ncb_nodes 5 6\n", "ROMIO_HINTS").complaints,
              (std::vector<std::string>{
                  "ROMIO_HINTS line 2: cannot read \"zzz\"; ignored; valid: key value",
                  "ROMIO_HINTS line 3: cannot read \"cb_nodes 5 6\"; ignored; valid: key value"}));
}

TEST(FileSystemPrefix, is_a_word_before_a_colon) {
    EXPECT_EQ(without_file_system_prefix("ufs:/tmp/x"), "/tmp/x");
    EXPECT_EQ(without_file_system_prefix("/tmp/a:b"), "/tmp/a:b");
    EXPECT_EQ(without_file_system_prefix("c:x"), "c:x");
    EXPECT_EQ(without_file_system_prefix("plain"), "plain");
}

TEST(Glob, star_crosses_directories) {
    EXPECT_TRUE(glob_matches("*", "/a/b/c.nc"));
    EXPECT_TRUE(glob_matches("/a/*.nc", "/a/b/c.nc"));
    EXPECT_FALSE(glob_matches("/a/*.nc", "/b/c.nc"));
}

TEST(Glob, without_a_slash_names_the_last_part) {
    EXPECT_TRUE(glob_matches("chk_????", "/scratch/run/chk_0001"));
    EXPECT_FALSE(glob_matches("chk_????", "/scratch/chk_0001/other"));
}

TEST(Glob, sees_through_prefixes_and_relative_names) {
    EXPECT_TRUE(glob_matches("/a/*", "ufs:/a/x"));
    auto const here = std::filesystem::current_path().string();
    EXPECT_TRUE(glob_matches(here + "/out/*", "./out/x"));
    EXPECT_FALSE(glob_matches(here + "/out/*", "../out/x"));
}

}  // namespace
}  // namespace unisono
