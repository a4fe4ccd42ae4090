#include "pocketfs/striping.hpp"

#include <gtest/gtest.h>

#include "model/random.hpp"

namespace unisono::testbed {
namespace {

std::string show(std::vector<ObjectPiece> const& pieces) {
    std::string text;
    for (auto const& piece : pieces)
        text += "s" + std::to_string(piece.server) + " " + std::to_string(piece.object_offset) +
                "+" + std::to_string(piece.bytes) + "; ";
    return text;
}

TEST(Striping, a_request_becomes_one_piece_per_server) {
    // Units of 10 over servers 1 2 3 of 4: unit 0 on 1, unit 1 on 2, unit 2 on 3, unit 3 on 1.
    Striping const striping{.stripe_bytes = 10, .servers = 3, .first = 1};
    EXPECT_EQ(show(split(striping, 4, 5, 30)), "s1 5+10; s2 0+10; s3 0+10; ");
    EXPECT_EQ(show(split(striping, 4, 42, 3)), "s2 12+3; ");
    EXPECT_EQ(show(split(striping, 4, 7, 0)), "");
}

TEST(Striping, objects_have_all_bytes_of_the_file) {
    Striping const striping{.stripe_bytes = 10, .servers = 3, .first = 0};
    for (std::uint64_t bytes = 0; bytes < 100; ++bytes) {
        std::uint64_t sum = 0;
        for (std::uint32_t index = 0; index < 3; ++index)
            sum += object_bytes(striping, bytes, index);
        EXPECT_EQ(sum, bytes);
    }
    EXPECT_EQ(object_bytes(striping, 45, 1), 15U);
}

TEST(Striping, units_of_a_petabyte_on_all_servers_do_not_overflow) {
    Striping const striping{.stripe_bytes = Striping::stripe_bytes_max, .servers = 1024};
    EXPECT_EQ(object_bytes(striping, 1000, 0), 1000U);
    EXPECT_EQ(show(split(striping, 1024, 500, 1000)), "s0 500+1000; ");
    EXPECT_FALSE(parse_striping("stripe_bytes=1152921504606846976,servers=16,first=0"))
        << "a row of it would be 2^64, which is 0";
}

TEST(Striping, units_of_a_byte_cost_no_more_than_others) {
    Striping const striping{.stripe_bytes = 1, .servers = 3};
    EXPECT_EQ(show(split(striping, 3, 1, 3'000'000'000'000)),
              "s1 0+1000000000000; s2 0+1000000000000; s0 1+1000000000000; ");
}

TEST(Striping, texts_are_read_back_and_mistakes_are_not) {
    Striping const striping{.stripe_bytes = 65536, .servers = 4, .first = 2};
    EXPECT_EQ(show(striping), "stripe_bytes=65536,servers=4,first=2");
    EXPECT_EQ(parse_striping(show(striping)), striping);
    EXPECT_FALSE(parse_striping("stripe_bytes=0,servers=4,first=2"));
    EXPECT_FALSE(parse_striping("stripe_bytes=65536,servers=4,first=2,"));
    EXPECT_FALSE(parse_striping(""));
}

TEST(DiskMap, texts_are_read_back) {
    DiskMap map;
    map.add(0, {1000, 64});
    map.add(64, {1064, 64});
    map.add(128, {5000, 64});
    EXPECT_EQ(show(map), "0:1000:128 128:5000:64");
    EXPECT_EQ(show(*parse_disk_map(show(map))), show(map));
    EXPECT_FALSE(parse_disk_map("0:1000"));
    EXPECT_EQ(show(*parse_disk_map("")), "");
}

TEST(DiskSpace, files_that_grow_in_turn_share_the_disk_in_chunks) {
    DiskSpace space(1 << 20);
    DiskMap a;
    DiskMap b;
    ASSERT_TRUE(place(a, space, 0, 100, 4096, 0));
    ASSERT_TRUE(place(b, space, 0, 100, 4096, 0));
    ASSERT_TRUE(place(a, space, 4000, 9000, 4096, 0));
    EXPECT_EQ(show(a), "0:0:4096 4096:8192:8192");
    EXPECT_EQ(show(b), "0:4096:4096");
    EXPECT_EQ(a.find(4100)->address, 8196U);
    EXPECT_FALSE(a.find(20'000));
}

TEST(DiskSpace, holes_take_no_place_and_what_is_written_later_goes_where_it_belongs) {
    DiskSpace space(1 << 20);
    DiskMap map;
    ASSERT_TRUE(place(map, space, 40'960, 45'056, 4096, 100 * 4096));
    ASSERT_TRUE(place(map, space, 0, 4096, 4096, 0));
    ASSERT_TRUE(place(map, space, 8192, 12'288, 4096, 0));
    EXPECT_EQ(show(map), "0:368640:4096 8192:376832:4096 40960:409600:4096");
    EXPECT_FALSE(map.find(4096));
}

TEST(DiskSpace, a_full_disk_says_so_and_freed_bytes_are_used_again) {
    DiskSpace space(3 * 4096);
    DiskMap map;
    EXPECT_FALSE(place(map, space, 0, 4 * 4096, 4096, 0));
    EXPECT_EQ(space.free_bytes(), 0U);
    for (auto const& run : map.trim(4096)) space.give(run.address, run.bytes);
    EXPECT_EQ(space.free_bytes(), 2 * 4096U);
    EXPECT_EQ(show(map), "0:0:4096");
    EXPECT_TRUE(place(map, space, 0, 2 * 4096, 4096, 0));
}

TEST(DiskSpace, a_chunk_in_parts_is_placed_up_to_its_end) {
    DiskSpace space(1 << 20);
    DiskMap map;
    map.add(0, {40'960, 4096});
    map.add(4096, {81'920, 4096});
    space.reserve(40'960, 4096);
    space.reserve(81'920, 4096);
    ASSERT_TRUE(place(map, space, 8192, 9000, 16'384, 0));
    EXPECT_EQ(show(map), "0:40960:4096 4096:81920:12288");
}

TEST(DiskSpace, chunks_that_are_longer_than_before_leave_what_has_a_place) {
    DiskSpace space(1 << 20);
    DiskMap map;
    ASSERT_TRUE(place(map, space, 4096, 8192, 4096, 40'960));
    ASSERT_TRUE(place(map, space, 0, 16'384, 16'384, 0));
    EXPECT_EQ(show(map), "0:36864:4096 4096:40960:12288");
    EXPECT_EQ(space.free_bytes(), (1 << 20) - 16'384U);
}

// Whatever is taken and given back, no byte has two owners, and none is lost.
TEST(DiskSpace, every_byte_has_one_owner) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        std::uint64_t const capacity = 256 * 4096;
        DiskSpace space(capacity);
        std::vector<DiskMap> maps(4);
        for (int step = 0; step < 200; ++step) {
            auto& map = maps[random.below(maps.size())];
            auto const at = random.below(64 * 4096);
            if (random.below(3) == 0) {
                for (auto const& run : map.trim(at)) space.give(run.address, run.bytes);
            } else {
                auto const end = at + random.below(20'000);
                auto const chunk = std::uint64_t{4096} << random.below(3);
                bool const placed = place(map, space, at, end, chunk, random.below(capacity));
                for (auto byte = at; placed && byte < end;) {
                    auto const run = map.find(byte);
                    ASSERT_TRUE(run) << byte;
                    byte += run->bytes;
                }
            }
        }
        SectorSet used;
        std::uint64_t sum = 0;
        for (auto const& map : maps)
            for (auto const& [offset, run] : map.runs()) {
                used.add(run.address, run.address + run.bytes);
                sum += run.bytes;
            }
        EXPECT_EQ(used.sectors(), sum);
        EXPECT_EQ(space.free_bytes(), capacity - sum);
    }
}

}  // namespace
}  // namespace unisono::testbed
