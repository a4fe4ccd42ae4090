#include "strategies/realms.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

std::string show(std::vector<Extent> const& realms) {
    std::ostringstream text;
    for (std::size_t i = 0; i < realms.size(); ++i)
        text << "a" << i << " [" << realms[i].begin / KiB << "K, " << realms[i].end / KiB << "K)  ";
    return text.str();
}

// [1.5, 6) MiB touches units 1..5: 5 units over 2 aggregators = 3 + 2, cut at 4 MiB.
TEST(SplitEvenly, cut_is_aligned_when_the_range_begins_in_mid_unit) {
    EXPECT_EQ(show(split_evenly({3 * MiB / 2, 6 * MiB}, 2, MiB)),
              "a0 [1536K, 4096K)  a1 [4096K, 6144K)  ");
}

TEST(SplitEvenly, more_realms_than_units_leaves_some_empty) {
    auto const realms = split_evenly({10, 4097}, 4, 4096);
    EXPECT_EQ(realms[0], (Extent{10, 4096}));
    EXPECT_TRUE(realms[1].empty());
    EXPECT_EQ(realms[2], (Extent{4096, 4097}));
    EXPECT_TRUE(realms[3].empty());
}

// 10 units for 6 realms: the first three have 5 of them, like the last three, not 6.
TEST(SplitEvenly, what_is_over_is_shared_out_evenly) {
    std::vector<std::uint64_t> units;
    for (auto const& realm : split_evenly(Extent{0, 10}, 6, 1)) units.push_back(realm.bytes());
    EXPECT_EQ(units, (std::vector<std::uint64_t>{2, 2, 1, 2, 2, 1}));
}

TEST(SplitEvenly, realms_tile_any_range) {
    for (std::uint64_t begin : {0, 1, 4095, 4096, 12345})
        for (std::uint64_t bytes : {0, 1, 4096, 100000})
            for (std::uint32_t count : {1, 2, 3, 7, 16})
                for (std::uint64_t unit : {1, 512, 4096}) {
                    auto at = begin;
                    for (auto const& realm : split_evenly({begin, begin + bytes}, count, unit)) {
                        EXPECT_EQ(realm.begin, at);
                        EXPECT_TRUE(realm.begin % unit == 0 || realm.begin == begin ||
                                    realm.begin == begin + bytes);
                        at = realm.end;
                    }
                    EXPECT_EQ(at, begin + bytes);
                }
}

// Stripes of server 1 of 2, units of 100: the second half of its object, not of the file's range.
TEST(SplitEvenly, a_realm_is_cut_in_its_own_positions) {
    auto const halves = split_evenly(striped_realm(100, 100, 200, {0, 800}), 2, 100);
    EXPECT_EQ(touched(halves[0]), (Extent{100, 400}));
    EXPECT_EQ(touched(halves[1]), (Extent{500, 800}));
    EXPECT_EQ(halves[0].bytes(), 200u);
}

TEST(CutUnit, is_a_stripe_unit_or_what_was_asked_for_or_a_page) {
    Options options;
    Facts facts{.touched = {0, MiB}};
    EXPECT_EQ(cut_unit(facts, options), 4096u);
    options.striping_unit = 100;
    EXPECT_EQ(cut_unit(facts, options), 100u);
    auto const layout = Layout::of("test", {Striping::round_robin(64 * KiB, {0, 1})});
    facts.layout = &layout;
    EXPECT_EQ(cut_unit(facts, options), 64 * KiB);
}

// Derivation: an eighth of what a rank has of the touched range, 128 to 512 KiB.
TEST(WindowBytes, on_local_storage_small_calls_have_small_windows) {
    Options options;
    auto const topology = make_topology({0, 0, 0, 0});
    auto const window = [&](std::uint64_t touched_bytes, bool local) {
        Facts facts{.topology = &topology, .local_storage = local};
        facts.touched = {0, touched_bytes};
        return window_bytes(facts, options);
    };
    EXPECT_EQ(window(MiB, true), 128 * KiB);
    EXPECT_EQ(window(8 * MiB, true), 256 * KiB);
    EXPECT_EQ(window(64 * MiB, true), 512 * KiB);
    EXPECT_EQ(window(MiB, false), 512 * KiB);
    options.cb_buffer_size = 3 * KiB;
    EXPECT_EQ(window(MiB, true), 3 * KiB) << "asked for";
}

}  // namespace
}  // namespace unisono
