#include "pocketfs/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "orchestra/schedule.hpp"

namespace unisono::testbed {
namespace {

using orchestra::Schedule;

Gate::ServerRequest server_request(std::string_view program) {
    return {.program = program, .server = 0, .address = 4096, .bytes = 512, .file = 1};
}

// Enters; the future is ready when it was let in.
std::future<Gate::AdmissionToken> enter(Gate& gate, std::string_view program) {
    auto const promise = std::make_shared<std::promise<Gate::AdmissionToken>>();
    gate.enter(server_request(program),
               [promise](Gate::AdmissionToken token) { promise->set_value(std::move(token)); });
    return promise->get_future();
}

bool is_in(std::future<Gate::AdmissionToken> const& entered) {
    return entered.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::string only(char const* program, std::uint64_t epoch, Time lease) {
    return orchestra::show(
        Schedule{.epoch = epoch,
                 .lease = lease,
                 .objects = {{{program}, 10 * second, 0}, {{}, millisecond, 0}}});
}

orchestra::Report read_report(Gate& gate) { return *orchestra::parse_report(gate.report()); }

TEST(Gate, without_an_orchestrator_nothing_is_held_or_counted) {
    Gate gate(2, 1e9);
    auto entered = enter(gate, "A");
    ASSERT_TRUE(is_in(entered));
    gate.finished(entered.get(), 0);
    EXPECT_TRUE(read_report(gate).programs.empty());
}

// Two requests that the disk sees as one, and one of a file that nobody has used.
TEST(Gate, distances_are_those_of_what_the_disk_sees) {
    Gate gate(1, 1e9);
    read_report(gate);
    enter(gate, "A").get();
    enter(gate, "A").get();
    gate.on_disk(0, {.sent = 0, .file = 1, .address = 0});
    gate.on_disk(0, {.sent = 0, .file = 2, .address = 512 * 100});
    gate.on_disk(0, {.sent = 0, .file = 1, .address = 512 * 8});
    auto const report = read_report(gate);
    EXPECT_EQ(report.find("A")->servers[0].requests, 2);
    EXPECT_EQ(report.find("A")->servers[0].gap_sectors, 8);
    EXPECT_EQ(report.gap_sectors[0], 100.0 / 8 + 92 * 7.0 / 8);
}

TEST(Gate, holds_whose_turn_it_is_not_and_lets_them_in_when_the_lease_is_over) {
    Gate gate(1, 1e9);
    ASSERT_EQ(gate.adopt(only("A", 1, 10 * second)), 0);
    EXPECT_TRUE(is_in(enter(gate, "A")));
    auto held = enter(gate, "B");
    EXPECT_FALSE(is_in(held));
    EXPECT_EQ(read_report(gate).find("B")->held, 1);
    auto const lease = 100 * millisecond;
    auto const begin = std::chrono::steady_clock::now();
    ASSERT_EQ(gate.adopt(only("A", 2, lease)), 0);
    auto const token = held.get();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(lease));
    EXPECT_EQ(token.program, "B");
    auto const report = read_report(gate);
    EXPECT_TRUE(report.open);
    EXPECT_EQ(report.find("B")->under_way, 1);
    EXPECT_EQ(report.find("B")->servers[0].requests, 1);
    gate.finished(token, token.done.admitted + millisecond);
    EXPECT_EQ(read_report(gate).find("B")->under_way, 0);
}

TEST(Gate, an_empty_schedule_opens_it_at_once) {
    Gate gate(1, 1e9);
    ASSERT_EQ(gate.adopt(only("A", 1, 10 * second)), 0);
    auto held = enter(gate, "B");
    ASSERT_EQ(gate.adopt(orchestra::show(Schedule{.epoch = 2, .lease = second})), 0);
    held.get();
    EXPECT_NE(gate.turns().find(",A\n"), std::string::npos) << "A's turn is on record";
}

TEST(Gate, refuses_what_is_malformed_or_old) {
    Gate gate(1, 1e9);
    EXPECT_EQ(gate.adopt("let me in"), EINVAL);
    EXPECT_EQ(gate.adopt(only("A", 5, second)), 0);
    EXPECT_EQ(gate.adopt(only("B", 5, second)), ESTALE);
    EXPECT_EQ(read_report(gate).epoch, 5);
}

TEST(Gate, at_its_end_everyone_is_let_in) {
    std::future<Gate::AdmissionToken> held;
    {
        Gate gate(1, 1e9);
        gate.adopt(only("A", 1, 10 * second));
        held = enter(gate, "B");
        EXPECT_FALSE(is_in(held));
    }
    EXPECT_TRUE(is_in(held));
}

TEST(Gate, what_is_finished_after_the_watch_has_changed_is_not_counted_twice) {
    Gate gate(1, 1e9);
    gate.report();
    auto token = enter(gate, "A").get();
    token.watch = 99;
    gate.finished(token, 0);
    EXPECT_EQ(read_report(gate).find("A")->under_way, 1);
}

// Turns of 1 ms while eight threads come and go: nobody is lost, nobody stays.
TEST(Gate, many_threads_all_get_through) {
    Gate gate(1, 1e9);
    std::atomic<int> finished = 0;
    std::atomic<bool> stop = false;
    std::thread renewals([&] {
        for (std::uint64_t epoch = 1; !stop; ++epoch) {
            Schedule const schedule{
                .epoch = epoch,
                .lease = 500 * millisecond,
                .work_conserving = epoch % 2 == 0,
                .objects = {
                    {{"0"}, millisecond, 0}, {{"1", "2"}, millisecond, 0}, {{}, millisecond, 0}}};
            gate.adopt(orchestra::show(schedule));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    });
    std::vector<std::thread> programs;
    for (int number = 0; number < 8; ++number)
        programs.emplace_back([&, name = std::to_string(number)] {
            for (int i = 0; i < 50; ++i) {
                auto const token = enter(gate, name).get();
                gate.finished(token, token.done.admitted);
                ++finished;
            }
        });
    for (auto& program : programs) program.join();
    stop = true;
    renewals.join();
    EXPECT_EQ(finished, 400);
    for (auto const& program : read_report(gate).programs) {
        EXPECT_EQ(program.held, 0) << program.id;
        EXPECT_EQ(program.under_way, 0) << program.id;
    }
}

}  // namespace
}  // namespace unisono::testbed
