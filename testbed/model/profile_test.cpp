#include "model/profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "model/test_support.hpp"

namespace unisono::testbed {
namespace {

TEST(Profile, all_shipped_ones_can_be_read_and_give_a_source_for_every_figure) {
    int profiles = 0;
    for (auto const& file : std::filesystem::directory_iterator(UNISONO_PROFILES)) {
        SCOPED_TRACE(file.path());
        auto const name = file.path().stem().string();
        auto const text = shipped_profile_text(name);
        EXPECT_EQ(parse_profile(text).name, name);
        for (auto const& figure : figures_of(text))
            EXPECT_GE(figure.source.size(), 5U) << figure.name;
        ++profiles;
    }
    EXPECT_GE(profiles, 14);
}

// The papers' servers differ from the profiles of their drives in their kernels and servers only.
TEST(Profile, testbeds_of_papers_have_the_drives_and_links_of_their_drives_profiles) {
    std::pair<char const*, char const*> const testbeds[] = {
        {"resonant-2009", "sata-80gb"},
        {"iorchestrator-2010", "barracuda-7200.10"},
        {"lacio-2011", "sata-250gb"},
        {"orthrus-2014", "wd5000aaks"},
        {"view-based-2008", "barracuda-7200.10"}};
    auto const outside_of_hosts = [](std::string const& name) {
        std::vector<std::pair<std::string, double>> found;
        for (auto const& figure : figures_of(shipped_profile_text(name)))
            if (!figure.name.starts_with("host.")) found.emplace_back(figure.name, figure.value);
        return found;
    };
    for (auto const& [testbed, drive] : testbeds)
        EXPECT_EQ(outside_of_hosts(testbed), outside_of_hosts(drive)) << testbed;
}

std::string mistake_in(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
        parse_profile(text);
    } catch (std::runtime_error const& error) {
        return error.what();
    }
    return "none";
}

TEST(Profile, mistakes_are_named) {
    auto const good = shipped_profile_text("barracuda-7200.10");
    EXPECT_EQ(mistake_in(good, "\"rpm\"", "\"rmp\""), "profile: drive.rmp is unknown");
    EXPECT_EQ(mistake_in(good, "\"value\": 7200, ", ""),
              "profile: drive.rpm has no number \"value\"");
    EXPECT_EQ(mistake_in(good, ", \"source\": \"[R] 7200 rpm\"", ""),
              "profile: drive.rpm has no \"source\"");
    EXPECT_EQ(mistake_in(good, "\"value\": 7200", "\"value\": -1"),
              "profile: drive.rpm is negative");
    EXPECT_EQ(mistake_in(good, "\"kind\": \"rotating\"", "\"kind\": \"tape\""),
              "profile: drive.kind is not rotating, solid_state or instant");
    EXPECT_EQ(mistake_in(good, "\"value\": 1.8", "\"value\": 0.5"),
              "profile: drive.cylinder_switch_ms is below drive.seek_track_ms");
    EXPECT_EQ(mistake_in(good, "\"workers\": {\"value\": 16", "\"workers\": {\"value\": 0.5"),
              "profile: host.workers is between 0 and 1");
    EXPECT_EQ(mistake_in(good, "{", "["), "profile: this is no JSON");
    EXPECT_EQ(mistake_in(good, "\"on_demand\"", "\"2.6.24\""),
              "profile: host.read_ahead is not windows, on_demand, context or careful_context");
    EXPECT_EQ(
        mistake_in(good, "\"read_ahead\": {\"value\": \"on_demand\"", "\"workers\": {\"value\": 3"),
        "profile: host.read_ahead is missing");
}

}  // namespace
}  // namespace unisono::testbed
