#include "orchestra/slice_scheduler.hpp"

#include <gtest/gtest.h>

namespace unisono::orchestra {
namespace {

constexpr Time ms = millisecond;

// A has 30 ms, B 20, the pool 10.
Schedule three_objects(std::uint64_t epoch, bool work_conserving = false) {
    return {.epoch = epoch,
            .lease = 1000 * ms,
            .work_conserving = work_conserving,
            .objects = {{{"A"}, 30 * ms, 5 * ms}, {{"B"}, 20 * ms, 5 * ms}, {{}, 10 * ms, 5 * ms}}};
}

std::string who_passes(SliceScheduler const& gate) {
    std::string who;
    for (char const* program : {"A", "B", "C"})
        if (gate.admits(program)) who += program;
    return who;
}

TEST(SliceScheduler, everyone_passes_as_long_as_nobody_says_otherwise) {
    SliceScheduler gate;
    EXPECT_EQ(who_passes(gate), "ABC");
    EXPECT_FALSE(gate.advance(second));
    EXPECT_EQ(gate.next_event(), never);
    EXPECT_EQ(gate.grant("A").turn, Turn::everyone);
}

TEST(SliceScheduler, each_object_has_its_slice_and_the_pool_all_that_are_not_named) {
    SliceScheduler gate;
    ASSERT_TRUE(gate.adopt(three_objects(1), 0));
    EXPECT_EQ(who_passes(gate), "A");
    EXPECT_EQ(gate.next_event(), 30 * ms);
    EXPECT_FALSE(gate.advance(29 * ms));
    EXPECT_TRUE(gate.advance(30 * ms));
    EXPECT_EQ(who_passes(gate), "B");
    EXPECT_EQ(gate.grant("A").turn, Turn::other);
    EXPECT_TRUE(gate.advance(50 * ms));
    EXPECT_EQ(who_passes(gate), "C");
    EXPECT_EQ(gate.grant("C").turn, Turn::pool);
    EXPECT_TRUE(gate.advance(60 * ms));
    EXPECT_EQ(who_passes(gate), "A");
    EXPECT_EQ(gate.grant("A").since, 60 * ms);
    ASSERT_EQ(gate.history().size(), 3U);
    EXPECT_EQ(gate.history()[2].object, "pool");
    EXPECT_EQ(gate.history()[2].begin, 50 * ms);
}

TEST(SliceScheduler, opens_when_the_lease_is_over) {
    SliceScheduler gate;
    gate.adopt(three_objects(1), 0);
    for (Time now = 0; now < 1000 * ms; now += ms) gate.advance(now);
    EXPECT_NE(who_passes(gate), "ABC");
    EXPECT_TRUE(gate.advance(1000 * ms));
    EXPECT_EQ(who_passes(gate), "ABC");
}

TEST(SliceScheduler, old_epochs_are_refused_and_an_empty_schedule_opens) {
    SliceScheduler gate;
    EXPECT_TRUE(gate.adopt(three_objects(5), 0));
    EXPECT_FALSE(gate.adopt({.epoch = 5}, 1));
    EXPECT_FALSE(gate.adopt({.epoch = 4}, 1));
    EXPECT_EQ(who_passes(gate), "A");
    EXPECT_TRUE(gate.adopt({.epoch = 6}, 1));
    EXPECT_EQ(who_passes(gate), "ABC");
    EXPECT_FALSE(gate.adopt(three_objects(6), 2));
}

TEST(SliceScheduler, who_has_the_turn_keeps_it_when_the_schedule_is_renewed) {
    SliceScheduler gate;
    gate.adopt(three_objects(1), 0);
    gate.advance(30 * ms);
    gate.adopt(three_objects(2), 40 * ms);
    EXPECT_EQ(who_passes(gate), "B");
    EXPECT_TRUE(gate.advance(50 * ms)) << "its slice began at 30";
    EXPECT_EQ(who_passes(gate), "C");
    gate.adopt({.epoch = 3, .lease = second, .objects = {{{"B"}, 20 * ms, 0}}}, 55 * ms);
    EXPECT_EQ(who_passes(gate), "ABC") << "no pool: who is not named passes";
}

TEST(SliceScheduler, an_idle_object_loses_its_turn_to_one_that_waits) {
    SliceScheduler gate;
    gate.adopt(three_objects(1, true), 0);
    gate.arrived("A", false, 1 * ms);
    gate.arrived("B", true, 2 * ms);
    EXPECT_EQ(gate.next_event(), 30 * ms) << "A is being served";
    gate.finished("A", 4 * ms);
    EXPECT_EQ(gate.next_event(), 9 * ms) << "5 ms of patience";
    EXPECT_FALSE(gate.advance(8 * ms));
    EXPECT_TRUE(gate.advance(9 * ms));
    EXPECT_EQ(who_passes(gate), "B");
    gate.released("B");
    EXPECT_EQ(gate.demand("B")->under_way, 1U);
    EXPECT_EQ(gate.demand("B")->held, 0U);
}

TEST(SliceScheduler, a_program_that_does_not_take_its_turn_loses_it) {
    SliceScheduler gate;
    gate.adopt(three_objects(1, true), 0);
    gate.arrived("A", true, 0);  // and then it was stopped
    gate.arrived("B", true, 1 * ms);
    EXPECT_FALSE(gate.advance(24 * ms));
    EXPECT_TRUE(gate.advance(25 * ms));
    EXPECT_EQ(who_passes(gate), "B");
    gate.released("B");
    EXPECT_TRUE(gate.advance(45 * ms)) << "it may be back";
    EXPECT_EQ(who_passes(gate), "A");
    gate.released("A");
    EXPECT_FALSE(gate.advance(74 * ms)) << "it is";
}

TEST(SliceScheduler, nobody_gives_way_to_those_who_want_nothing) {
    SliceScheduler gate;
    gate.adopt(three_objects(1, true), 0);
    gate.arrived("A", false, 1 * ms);
    EXPECT_FALSE(gate.advance(30 * ms));
    EXPECT_EQ(who_passes(gate), "A");
    EXPECT_EQ(gate.grant("A").since, 0) << "it is the same turn";
    gate.finished("A", 31 * ms);
    EXPECT_EQ(gate.next_event(), 60 * ms) << "idle, but nobody else wants anything";
    gate.arrived("C", true, 40 * ms);
    EXPECT_TRUE(gate.advance(40 * ms));
    EXPECT_EQ(who_passes(gate), "C");
}

TEST(SliceScheduler, the_paper_gives_slices_to_idle_objects_too) {
    SliceScheduler gate;
    gate.adopt(three_objects(1, false), 0);
    gate.arrived("C", true, 0);
    EXPECT_FALSE(gate.advance(20 * ms));
    EXPECT_TRUE(gate.advance(30 * ms));
    EXPECT_EQ(who_passes(gate), "B");
}

}  // namespace
}  // namespace unisono::orchestra
