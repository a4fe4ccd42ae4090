#include "orchestra/gate/nodes_gate.hpp"

#include <gtest/gtest.h>

namespace unisono::orchestra {
namespace {

using Kind = NodeEvent::Kind;

NodeEvent taken(std::uint32_t slot, std::string program) {
    return {.kind = Kind::taken, .slot = slot, .program = std::move(program)};
}
NodeEvent access(Kind kind, std::uint32_t slot, std::uint32_t token, Time age = 0,
                 std::uint64_t address = 0, std::uint32_t server = 0) {
    return {.kind = kind,
            .slot = slot,
            .token = token,
            .age = age,
            .disk_address = {server, LocalityKind::offsets, address, 1000},
            .file = 5};
}

class Nodes : public ::testing::Test {
protected:
    Nodes() {
        say(1, {taken(1, "a")}, 0);
        say(2, {taken(1, "b")}, 0);
    }
    void say(std::uint64_t node, std::vector<NodeEvent> const& events, Time now) {
        server_gate.heard(node, events, now);
    }
    void let_take_turns(Time now) {
        ASSERT_TRUE(server_gate.slice_scheduler().adopt(
            {.epoch = ++epoch,
             .lease = 10 * second,
             .work_conserving = true,
             .objects = {{{"a"}, 100 * millisecond, 0}, {{"b"}, 100 * millisecond, 0}}},
            now));
    }
    ProgramReport of(std::string const& program, Time now) {
        auto const report = server_gate.report(now);
        auto const* const found = report.find(program);
        return found == nullptr ? ProgramReport{} : *found;
    }

    NodesGate server_gate{1e12};
    std::uint64_t epoch = 0;
};

// An access of 1000 bytes at 4 ms, heard at 5 ms, that took 3 ms.
TEST_F(Nodes, what_node_daemons_say_becomes_a_report) {
    say(1, {access(Kind::entered, 1, 1, millisecond)}, 5 * millisecond);
    EXPECT_EQ(of("a", 6 * millisecond).under_way, 1);
    say(1, {access(Kind::finished, 1, 1)}, 7 * millisecond);
    auto const report = of("a", 8 * millisecond);
    EXPECT_EQ(report.under_way, 0);
    EXPECT_EQ(report.idle_ms, 1);
    EXPECT_EQ(report.files, std::vector<double>{5});
    EXPECT_EQ(report.servers[0].bytes, 1000);
    EXPECT_EQ(server_gate.locality(), "offsets");
}

TEST_F(Nodes, gaps_are_between_accesses_of_all_nodes) {
    say(1, {access(Kind::entered, 1, 1, 0, 0)}, 1);
    say(2, {access(Kind::entered, 1, 1, 0, 512 * 1000)}, 2);
    EXPECT_EQ(server_gate.report(second).gap_sectors[0], 1000);
}

// A server does 1000 bytes in 10 ms, in turn for node 1, until 50 ms, and node 2, until 60 ms. Node
// 2 tells it later; then all that it told of the time before had taken no time at all, and what
// node 1 told the time of both.
TEST_F(Nodes, what_one_node_tells_later_than_another_is_measured_as_it_was) {
    auto const tell = [&](std::uint64_t node, std::vector<int> const& ends_ms, Time now) {
        std::vector<NodeEvent> events;
        for (auto const ms : ends_ms) {
            auto const token = static_cast<std::uint32_t>(ms);
            events.push_back(access(Kind::entered, 1, token, now - (ms - 15) * millisecond));
            events.push_back(access(Kind::finished, 1, token, now - ms * millisecond));
        }
        say(node, events, now);
    };
    tell(2, {20}, 25 * millisecond);
    tell(1, {30, 50}, 50 * millisecond);
    tell(2, {40, 60}, 65 * millisecond);
    tell(1, {70}, 100 * millisecond);
    EXPECT_EQ(of("a", second).servers[0].open_ms, 10);
    EXPECT_EQ(of("b", second).servers[0].open_ms, 10);
    EXPECT_EQ(of("b", second).servers[0].open_samples, 2);
}

TEST_F(Nodes, turns_begin_with_all_that_was_told_before) {
    say(1, {access(Kind::entered, 1, 1)}, 1);
    say(2, {access(Kind::entered, 1, 1)}, 2);
    ASSERT_TRUE(server_gate.adopt(
        {.epoch = ++epoch, .lease = second, .objects = {{{"a"}, 100 * millisecond, 0}}}, 3));
    EXPECT_EQ(of("b", 3).under_way, 1);
}

TEST_F(Nodes, a_node_that_has_left_does_not_come_back_with_what_it_told) {
    say(1, {access(Kind::entered, 1, 1)}, 1);
    say(2, {access(Kind::entered, 1, 1)}, 2);
    server_gate.lost(2, 3);
    EXPECT_EQ(of("a", 300 * millisecond).under_way, 1);
    EXPECT_EQ(of("b", 300 * millisecond).under_way, 0);
}

TEST_F(Nodes, servers_appear_as_they_are_used) {
    say(1, {access(Kind::entered, 1, 1, 0, 0, 3)}, 1);
    EXPECT_EQ(server_gate.report(2).gap_sectors.size(), 4U);
    EXPECT_EQ(of("a", 2).servers.size(), 4U);
}

TEST_F(Nodes, held_ones_are_wanted_and_let_the_turn_change) {
    let_take_turns(0);
    say(2, {access(Kind::held, 1, 1)}, millisecond);
    EXPECT_EQ(of("b", millisecond).held, 1);
    EXPECT_EQ(server_gate.slice_scheduler().admitted().programs, std::vector<std::string>{"b"});
    EXPECT_EQ(server_gate.slice_scheduler().admitted().kind, Admitted::Kind::all_but) << "no pool";
    EXPECT_TRUE(server_gate.slice_scheduler().advance(2 * millisecond)) << "a wants nothing";
    EXPECT_EQ(server_gate.slice_scheduler().admitted().programs, std::vector<std::string>{"a"});
    say(2, {access(Kind::released, 1, 1), access(Kind::finished, 1, 1)}, 3 * millisecond);
    EXPECT_EQ(of("b", 3 * millisecond).held, 0);
    EXPECT_EQ(of("b", 3 * millisecond).under_way, 0);
}

// The node saw the turn before it was over, or the next one before we heard of the access.
TEST_F(Nodes, who_was_let_in_elsewhere_is_in) {
    let_take_turns(0);
    say(2, {access(Kind::entered, 1, 1)}, millisecond);
    EXPECT_EQ(of("b", millisecond).held, 0);
    EXPECT_EQ(of("b", millisecond).under_way, 1);
    say(1, {access(Kind::held, 1, 1), access(Kind::released, 1, 1)}, 2 * millisecond);
    EXPECT_EQ(of("a", 2 * millisecond).held, 0);
    EXPECT_EQ(of("a", 2 * millisecond).under_way, 1);
    say(2, {access(Kind::finished, 1, 1)}, 3 * millisecond);
    say(1, {access(Kind::finished, 1, 1)}, 3 * millisecond);
    EXPECT_EQ(of("b", 3 * millisecond).under_way + of("a", 3 * millisecond).under_way, 0);
}

TEST_F(Nodes, a_dead_process_or_node_wants_nothing_any_more) {
    let_take_turns(0);
    say(1, {access(Kind::entered, 1, 1), access(Kind::held, 1, 2)}, 1);
    say(2, {access(Kind::held, 1, 1), access(Kind::held, 1, 2)}, 1);
    say(1, {{.kind = Kind::left, .slot = 1}}, 2);
    EXPECT_EQ(of("a", 3).under_way + of("a", 3).held, 0);
    EXPECT_EQ(of("b", 3).held, 2);
    server_gate.lost(2, 4);
    EXPECT_EQ(of("b", 5).under_way + of("b", 5).held, 0);
    say(2, {access(Kind::held, 1, 3)}, 6);
    EXPECT_EQ(of("b", 7).held, 0) << "an unknown slot";
}

// A process that was stopped inside an access kept the slices of its program to itself.
TEST_F(Nodes, who_says_nothing_for_a_second_does_not_keep_its_turn) {
    let_take_turns(0);
    say(1, {access(Kind::entered, 1, 1)}, 0);
    say(2, {access(Kind::held, 1, 1)}, 0);
    EXPECT_EQ(of("a", 900 * millisecond).under_way, 1);
    EXPECT_EQ(of("a", 1000 * millisecond).under_way, 0);
    server_gate.slice_scheduler().advance(1001 * millisecond);
    EXPECT_TRUE(server_gate.slice_scheduler().admits("b"));
    say(2, {access(Kind::finished, 1, 1)}, 1002 * millisecond);
    say(1, {access(Kind::finished, 1, 1)}, 1003 * millisecond);
    say(1, {access(Kind::held, 1, 2)}, 1004 * millisecond);
    EXPECT_EQ(of("a", 1005 * millisecond).under_way, 0) << "it is not counted twice";
    EXPECT_EQ(of("a", 1005 * millisecond).held, 1) << "it goes on, and wants its turn";
}

// It was given its turn again and again, which the others lost; a suspended job, for hours.
TEST_F(Nodes, who_was_stopped_while_it_waited_for_its_turn_does_not_want_it_for_ever) {
    let_take_turns(0);
    say(2, {taken(2, "b"), access(Kind::held, 1, 1)}, 0);
    EXPECT_EQ(of("b", 10 * second).held, 1) << "it may wait so long, and nobody see it";
    EXPECT_EQ(of("b", 11 * second).held, 0);
    EXPECT_EQ(of("b", 11 * second).under_way, 0);
    say(2, {access(Kind::held, 2, 1), access(Kind::released, 1, 1)}, 12 * second);
    EXPECT_EQ(of("b", 12 * second).held, 1) << "another process's, that waits";
    EXPECT_EQ(of("b", 12 * second).under_way, 0);
    say(2, {access(Kind::finished, 1, 1), access(Kind::held, 1, 2)}, 12 * second);
    EXPECT_EQ(of("b", 12 * second).held, 2) << "it goes on, and wants its turn";
    EXPECT_EQ(of("b", 12 * second).under_way, 0);
}

// They were taken for stopped, wanted nothing after a second, and were never measured. 20 s.
TEST_F(Nodes, an_access_that_takes_long_is_measured_if_its_process_is_said_to_wait) {
    say(1, {access(Kind::entered, 1, 1), access(Kind::finished, 1, 1)}, 0);
    say(1, {access(Kind::entered, 1, 2)}, 0);
    for (int half_seconds = 1; half_seconds < 40; ++half_seconds) {
        auto const now = half_seconds * second / 2;
        say(1, {{.kind = Kind::waits, .slot = 1}}, now);
        EXPECT_EQ(of("a", now).under_way, 1);
    }
    say(1, {access(Kind::finished, 1, 2)}, 20 * second);
    EXPECT_EQ(of("a", 20 * second).servers[0].open_ms, 20e3);
}

// Whoever starts programs of new names again and again had the orchestrator remember them all.
TEST_F(Nodes, programs_of_ever_new_names_are_not_all_remembered) {
    for (std::uint32_t slot = 2; slot < 5000; ++slot)
        say(1,
            {taken(slot, std::to_string(slot)),
             access(Kind::entered, slot, 1),
             access(Kind::finished, slot, 1),
             {.kind = Kind::left, .slot = slot}},
            millisecond);
    say(1, {access(Kind::entered, 1, 1)}, second);
    auto const report = server_gate.report(second);
    ASSERT_EQ(report.programs.size(), 1U);
    EXPECT_EQ(report.programs[0].id, "a") << "it wants something";
}

TEST_F(Nodes, nonsense_is_passed_over) {
    say(1,
        {access(Kind::finished, 1, 9), access(Kind::released, 1, 9), access(Kind::entered, 7, 1),
         access(Kind::entered, 1, 1), access(Kind::entered, 1, 1), taken(1, "a"),
         access(Kind::entered, 1, 1, never)},
        1);
    EXPECT_EQ(of("a", 2).under_way, 1) << "the slot was given away in between";
}

TEST(Admitted, the_pool_passes_in_its_turn_only) {
    SliceScheduler slice_scheduler;
    slice_scheduler.adopt(
        {.epoch = 1, .lease = 10 * second, .objects = {{{"a"}, second, 0}, {{}, second, 0}}}, 0);
    EXPECT_EQ(slice_scheduler.admitted(), (Admitted{Admitted::Kind::only, {"a"}}));
    slice_scheduler.advance(second);
    EXPECT_EQ(slice_scheduler.admitted(), (Admitted{Admitted::Kind::all_but, {"a"}}));
    slice_scheduler.advance(20 * second);
    EXPECT_EQ(slice_scheduler.admitted(), Admitted{});
}

}  // namespace
}  // namespace unisono::orchestra
