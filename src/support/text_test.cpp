#include "support/text.hpp"

#include <gtest/gtest.h>
#include <locale.h>

#include <cstdlib>
#include <filesystem>

namespace unisono {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Split, has_an_empty_part_where_nothing_is_between_separators) {
    EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
    EXPECT_EQ(split("", ','), Parts{""});
}

TEST(Trim, takes_blanks_from_both_ends) {
    EXPECT_EQ(trim(" \ta b\r\n"), "a b");
    EXPECT_EQ(trim(" \t"), "");
}

TEST(ParseBytes, takes_powers_of_1024) {
    EXPECT_EQ(parse_bytes("16777216"), 16777216u);
    EXPECT_EQ(parse_bytes("16M"), 16777216u);
    EXPECT_EQ(parse_bytes("16mib"), 16777216u);
    EXPECT_EQ(parse_bytes("64kB"), 65536u);
    EXPECT_EQ(parse_bytes("3G"), 3221225472u);
    EXPECT_EQ(parse_bytes("0"), 0u);
}

TEST(ParseBytes, refuses_what_is_no_size) {
    for (auto const* text : {"", "M", "-1", "1.5M", "16 M", "16X", "16Mx", "16MM", "0x10",
                             "18446744073709551616", "18014398509481985K"}) {
        EXPECT_FALSE(parse_bytes(text)) << '"' << text << '"';
    }
}

TEST(ParseCount, takes_a_number_that_fits_and_nothing_around_it) {
    EXPECT_EQ(parse_count("4294967295"), 4294967295u);
    for (auto const* text : {"4294967296", "-1", "1 ", "+1", ""}) EXPECT_FALSE(parse_count(text));
}

TEST(ParseBoolean, takes_words_in_either_case) {
    EXPECT_EQ(parse_boolean("Enable"), true);
    EXPECT_EQ(parse_boolean("OFF"), false);
    EXPECT_FALSE(parse_boolean("2"));
}

TEST(SizeText, is_exact) {
    EXPECT_EQ(size_text(0), "0 bytes");
    EXPECT_EQ(size_text(1000), "1000 bytes");
    EXPECT_EQ(size_text(64 << 10), "64 KiB");
    EXPECT_EQ(size_text((1 << 20) + 1024), "1025 KiB");
}

TEST(Counted, has_the_noun_in_the_right_number_and_digits_in_groups) {
    EXPECT_EQ(counted(0, "call"), "0 calls");
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(999, "call"), "999 calls");
    EXPECT_EQ(counted(1000, "call"), "1,000 calls");
    EXPECT_EQ(counted(123456, "call"), "123,456 calls");
    EXPECT_EQ(counted(33554432, "piece"), "33,554,432 pieces");
}

// A report had "1.21e-05 s" and "1.25e+03 s".
TEST(Text, numbers_that_follow_each_other_are_a_range) {
    EXPECT_EQ(number_ranges({}), "");
    EXPECT_EQ(number_ranges(std::vector<std::uint32_t>{3}), "3");
    EXPECT_EQ(number_ranges(std::vector<std::uint32_t>{0, 2, 3, 4, 5, 7}), "0, 2-5, 7");
}

TEST(HumanSeconds, never_need_an_exponent) {
    EXPECT_EQ(human_seconds(0), "0 s");
    EXPECT_EQ(human_seconds(5e-9), "5 ns");
    EXPECT_EQ(human_seconds(1.21e-5), "12.1 us");
    EXPECT_EQ(human_seconds(0.0125), "12.5 ms");
    EXPECT_EQ(human_seconds(0.25), "0.25 s");
    EXPECT_EQ(human_seconds(119), "119 s");
    EXPECT_EQ(human_seconds(179.9), "3 min 0 s");
    EXPECT_EQ(human_seconds(1250), "20 min 50 s");
    EXPECT_EQ(human_seconds(7500), "2 h 5 min");
}

TEST(HumanBytes, use_powers_of_1024) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1536), "1.50 KiB");
    EXPECT_EQ(human_bytes(3.0 * (1u << 30)), "3.00 GiB");
}

TEST(Visible, leaves_nothing_that_a_terminal_would_obey) {
    EXPECT_EQ(visible("/a/\x1b[31mb\x07\r\x7f"), "/a/?[31mb???");
    EXPECT_EQ(visible("a\xC2\x9B"
                      "2J"),
              "a?2J")
        << "the same as ESC [";
}

TEST(Visible, leaves_lines_and_letters_as_they_are) {
    constexpr auto text = "unisono:\t/gr\xC3\xBC\xC3\x9F/\xC2\xA7 \xE2\x82\xAC\n\xFF\xC2";
    EXPECT_EQ(visible(text), text);
    EXPECT_EQ(visible(""), "");
}

TEST(HumanBytes, had_the_decimal_comma_of_the_programs_locale) {
    auto const folder = testing::TempDir() + "unisono-locales";
    auto const make = "mkdir -p " + folder + " && localedef -i de_DE -f UTF-8 " + folder +
                      "/de_DE.UTF-8 2>/dev/null";
    auto const made = std::system(make.c_str()) == 0;
    setenv("LOCPATH", folder.c_str(), /*overwrite=*/1);
    auto const set = made && setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
    std::filesystem::remove_all(folder);
    if (!set) GTEST_SKIP() << "needs localedef and the source of a German locale";
    EXPECT_EQ(human_bytes(1536), "1.50 KiB");
    EXPECT_EQ(std::string{localeconv()->decimal_point}, ",");  // the program's is as it was
    setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace unisono
