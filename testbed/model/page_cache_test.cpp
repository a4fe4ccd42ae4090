#include "model/page_cache.hpp"

#include <gtest/gtest.h>

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

TEST(PageCache, dirty_pages_are_known_by_file) {
    PageCache cache(1 << 20);
    for (std::uint64_t const page : {5, 3, 4}) cache.make_dirty(page, page == 4 ? 8 : 9);
    EXPECT_EQ(cache.dirty_files(), (PageCache::DirtyFiles{{8, {4}}, {9, {3, 5}}}));
    cache.make_dirty(4, 9);
    cache.begin_write(3, 50);
    cache.discard(5, 6);
    EXPECT_EQ(cache.dirty_files(), (PageCache::DirtyFiles{{9, {4}}}));
}

TEST(PageCache, discarded_pages_are_not_written) {
    PageCache cache(1 << 20);
    for (std::uint64_t page = 0; page < 10; ++page) cache.make_dirty(page, 9);
    cache.discard(2, 1'000'000);
    EXPECT_EQ(cache.dirty(), (std::set<std::uint64_t>{0, 1}));
    EXPECT_EQ(cache.unwritten_bytes(), 2 * 4096U);
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
