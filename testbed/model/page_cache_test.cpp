#include "model/page_cache.hpp"

#include <gtest/gtest.h>

#include "model/read_ahead.hpp"
#include "model/sector_set.hpp"

namespace unisono::testbed {
namespace {

using State = PageCache::State;

TEST(PageCache, the_longest_unused_clean_page_leaves_first_and_dirty_ones_stay) {
    PageCache cache(3 * PageCache::page_bytes);
    for (std::uint64_t const page : {1, 2, 3}) {
        cache.begin_read(page, 7);
        cache.end_block(page, 7);
    }
    cache.touch(1);
    cache.make_dirty(4, 9);
    EXPECT_EQ(cache.state(2), State::absent);
    EXPECT_EQ(cache.state(1), State::clean);
    cache.make_dirty(5, 9);
    cache.make_dirty(6, 9);
    cache.make_dirty(7, 9);
    EXPECT_EQ(cache.state(4), State::dirty) << "over the capacity, but not written yet";
    EXPECT_EQ(cache.state(1), State::absent);
}

TEST(PageCache, a_page_written_to_while_it_is_on_its_way_stays_dirty) {
    PageCache cache(1 << 20);
    cache.make_dirty(1, 9);
    cache.begin_write(1, 50);
    EXPECT_EQ(cache.unwritten_bytes(), 4096U);
    cache.make_dirty(1, 9);
    cache.end_block(1, 50);
    EXPECT_EQ(cache.state(1), State::dirty);
    EXPECT_EQ(cache.unwritten_bytes(), 4096U);
    cache.begin_write(1, 51);
    cache.end_block(1, 51);
    EXPECT_EQ(cache.state(1), State::clean);
    EXPECT_EQ(cache.unwritten_bytes(), 0U);
}

TEST(PageCache, discarded_pages_are_not_written) {
    PageCache cache(1 << 20);
    for (std::uint64_t page = 0; page < 10; ++page) cache.make_dirty(page, 9);
    cache.discard(2, 1'000'000);
    EXPECT_EQ(cache.dirty(), (std::set<std::uint64_t>{0, 1}));
    EXPECT_EQ(cache.unwritten_bytes(), 2 * 4096U);
}

// Linux with 128 KiB (32 pages): requests of 16 pages.
TEST(ReadAhead, sequential_requests_keep_a_full_window_ahead) {
    ReadAhead ahead;
    auto const first = ahead.on_read({0, 16}, true, true, 1000, 32);
    EXPECT_EQ(first->begin, 0U);
    EXPECT_EQ(first->end, 32U);
    auto const second = ahead.on_read({16, 32}, false, false, 1000, 32);
    EXPECT_EQ(second->begin, 32U);
    EXPECT_EQ(second->end, 64U);
    auto const third = ahead.on_read({32, 48}, false, false, 1000, 32);
    EXPECT_EQ(third->begin, 64U);
    EXPECT_EQ(third->end, 96U);
    EXPECT_FALSE(ahead.on_read({48, 64}, false, false, 1000, 32)) << "the marker is at 64";
}

TEST(ReadAhead, windows_of_small_requests_double) {
    ReadAhead ahead;
    EXPECT_EQ(ahead.on_read({0, 1}, true, true, 1000, 32)->end, 4U);
    EXPECT_EQ(ahead.on_read({1, 2}, false, false, 1000, 32)->end, 12U);
    EXPECT_FALSE(ahead.on_read({2, 3}, false, false, 1000, 32));
}

TEST(ReadAhead, random_requests_and_the_end_of_the_file_stop_it) {
    ReadAhead ahead;
    EXPECT_FALSE(ahead.on_read({500, 516}, false, true, 1000, 32));
    EXPECT_FALSE(ahead.on_read({100, 116}, false, true, 1000, 32));
    EXPECT_EQ(ahead.on_read({116, 132}, false, true, 140, 32)->end, 140U);
    EXPECT_FALSE(ahead.on_read({0, 16}, true, true, 1000, 0)) << "turned off";
}

TEST(SectorSet, runs_merge_and_split) {
    SectorSet set;
    set.add(10, 20);
    set.add(30, 40);
    set.add(20, 30);
    EXPECT_EQ(set.runs(), (SectorSet::Runs{{10, 40}}));
    set.remove(15, 25);
    EXPECT_EQ(set.runs(), (SectorSet::Runs{{10, 15}, {25, 40}}));
    EXPECT_EQ(set.sectors(), 20U);
    EXPECT_TRUE(set.contains(26, 40));
    EXPECT_FALSE(set.contains(14, 26));
    set.add(0, 100);
    set.remove(0, 100);
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.sectors(), 0U);
}

}  // namespace
}  // namespace unisono::testbed
