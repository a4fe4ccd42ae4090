#include "report/timeline.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace unisono {
namespace {

using Lap = Laps::Lap;

std::vector<Lap> all(Laps const& laps) { return {laps.get().begin(), laps.get().end()}; }

CallsInTime call(double begin_s, double seconds, std::uint64_t bytes = 1) {
    CallsInTime one{.begin_s = begin_s, .end_s = begin_s + seconds, .bytes = bytes};
    one.laps.add(4, seconds);
    return one;
}

TEST(Laps, stay_in_order_and_neighbours_of_one_phase_are_one) {
    Laps laps;
    laps.add(0, 1);
    laps.add(4, 2);
    laps.add(4, 3);
    laps.add(0, 4);
    EXPECT_EQ(all(laps), (std::vector<Lap>{{1, 0}, {5, 4}, {4, 0}}));
}

TEST(Laps, of_too_many_parts_each_phase_is_there_once_and_no_time_is_lost) {
    Laps laps;
    for (int round = 0; round < 100; ++round) {
        laps.add(2, 1);
        laps.add(4, 2);
    }
    EXPECT_EQ(all(laps), (std::vector<Lap>{{100, 2}, {200, 4}}));
}

TEST(Laps, of_two_calls_are_summed_up) {
    Laps laps, others;
    laps.add(2, 1);
    laps.add(4, 1);
    others.add(4, 1);
    others.add(1, 1);
    laps.merge(others);
    EXPECT_EQ(all(laps), (std::vector<Lap>{{1, 2}, {2, 4}, {1, 1}}));
}

TEST(Timeline, keeps_nothing_unless_asked_to) {
    CallTimeline<Phase> timeline;
    timeline.add(call(0, 1));
    EXPECT_TRUE(timeline.tracks.empty());
}

// 100,000 calls, one a second, each half a second long, in at most 64 entries.
TEST(Timeline, has_all_of_the_time_evenly_in_bounded_memory) {
    CallTimeline<Phase> timeline;
    timeline.keep(3, 64);
    for (int i = 0; i < 100'000; ++i) timeline.add(call(i, 0.5));
    ASSERT_EQ(timeline.tracks.size(), 1u);
    auto const& [rank, entries] = timeline.tracks.front();
    EXPECT_EQ(rank, 3u);
    EXPECT_LE(entries.size(), 64u);
    EXPECT_GT(entries.size(), 32u);
    std::uint64_t calls = 0, bytes = 0;
    double seconds = 0, last_s = 0;
    for (auto const& entry : entries) {
        EXPECT_GE(entry.begin_s, last_s) << "in order";
        EXPECT_LE(entry.count, 2048u) << "100,000 / 64, as a power of two";
        last_s = entry.end_s;
        calls += entry.count;
        bytes += entry.bytes;
        seconds += entry.laps.get().front().seconds;
    }
    EXPECT_EQ(calls, 100'000u);
    EXPECT_EQ(bytes, 100'000u);
    EXPECT_DOUBLE_EQ(seconds, 50'000);
    EXPECT_DOUBLE_EQ(last_s, 99'999.5);
}

TEST(Timeline, of_many_ranks_is_in_the_order_of_their_numbers) {
    CallTimeline<Phase> merged, other;
    merged.keep(2, 8);
    other.keep(1, 8);
    merged.add(call(0, 1));
    other.add(call(5, 1));
    merged.merge(other);
    ASSERT_EQ(merged.tracks.size(), 2u);
    EXPECT_EQ(merged.tracks[0].rank, 1u);
    EXPECT_EQ(merged.tracks[1].rank, 2u);
}

TEST(Timeline, accesses_that_are_one_entry_lie_between_its_ends) {
    AccessesInTime access{.begin_s = 1, .end_s = 1, .bytes = 10, .touched = {100, 110}};
    access.merge({.begin_s = 2, .end_s = 2, .bytes = 5, .touched = {0, 50}});
    EXPECT_EQ(access, (AccessesInTime{
                          .begin_s = 1, .end_s = 2, .count = 2, .bytes = 15, .touched = {0, 110}}));
}

// Entries of a program with 100,000 ranks, or 100,000 files, would fill rank 0's memory.
TEST(Timeline, shrinks_with_ranks_and_files) {
    EXPECT_EQ(timeline_entries_at_most(4, 0), 2048u);
    EXPECT_EQ(timeline_entries_at_most(1024, 0), 64u);
    EXPECT_EQ(timeline_entries_at_most(100'000, 0), 4u);
    EXPECT_EQ(timeline_entries_at_most(4, 8), 1024u);
    EXPECT_EQ(timeline_entries_at_most(4, 100'000), 4u);
}

TEST(Timeline, is_in_the_time_of_day) {
    auto const seconds = [](auto now) {
        return std::chrono::duration<double>(now.time_since_epoch()).count();
    };
    EXPECT_NEAR(since_epoch(seconds(std::chrono::steady_clock::now())),
                seconds(std::chrono::system_clock::now()), 1.0);
}

}  // namespace
}  // namespace unisono
