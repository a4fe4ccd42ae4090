#include "model/scheduler.hpp"

#include <gtest/gtest.h>

namespace unisono::testbed {
namespace {

BlockRequest read_of(std::uint64_t context, std::uint64_t sector) {
    return {{.id = sector, .operation = Operation::read, .sector = sector, .sectors = 8}, context};
}

BlockRequest write_of(std::uint64_t sector) {
    return {
        {.id = sector, .operation = Operation::write, .sector = sector, .sectors = 8}, 0, false};
}

// The order in which a drive that takes one at a time, for 1 ms each, gets what is queued.
std::vector<std::uint64_t> drain(Scheduler& scheduler, Time now) {
    std::vector<std::uint64_t> order;
    for (;;) {
        auto const request = scheduler.next(now);
        if (!request) {
            if (scheduler.next_event() == never) return order;
            now = std::max(now, scheduler.next_event());
            continue;
        }
        order.push_back(request->command.sector);
        now += millisecond;
        scheduler.finished(now, *request);
    }
}

TEST(Scheduler, unknown_names_make_none) { EXPECT_EQ(make_scheduler("elevator"), nullptr); }

TEST(FirstComeFirstServed, keeps_the_order_of_arrival) {
    auto const scheduler = make_scheduler("none");
    for (std::uint64_t const sector : {30, 10, 20}) scheduler->add(0, read_of(1, sector));
    EXPECT_EQ(drain(*scheduler, 0), (std::vector<std::uint64_t>{30, 10, 20}));
}

TEST(Deadline, sorts_reads_and_lets_waiting_writes_in_after_two_batches) {
    auto const scheduler = make_scheduler("deadline");
    scheduler->add(0, write_of(5000));
    for (std::uint64_t i = 0; i < 40; ++i) scheduler->add(0, read_of(1, (40 - i) * 100));
    auto const order = drain(*scheduler, 0);
    EXPECT_EQ(order[0], 100U);
    EXPECT_EQ(order[15], 1600U);
    // Batches of 16 reads; the write waits for two of them.
    EXPECT_EQ(order[32], 5000U);
    EXPECT_EQ(order[33], 3300U);
}

TEST(Deadline, an_overdue_read_begins_the_next_batch) {
    auto const scheduler = make_scheduler("deadline");
    scheduler->add(0, read_of(1, 10));
    for (std::uint64_t i = 1; i <= 20; ++i) scheduler->add(400 * millisecond, read_of(1, i * 100));
    EXPECT_EQ(scheduler->next(450 * millisecond)->command.sector, 10U);
    scheduler->add(0, read_of(1, 20));
    for (std::uint64_t i = 1; i <= 15; ++i)
        EXPECT_EQ(scheduler->next(450 * millisecond)->command.sector, i == 1 ? 20 : (i - 1) * 100);
    EXPECT_EQ(scheduler->next(850 * millisecond)->command.sector, 1500U);
}

TEST(Cfq, serves_one_context_after_the_other_and_not_in_turn) {
    auto const scheduler = make_scheduler("cfq");
    for (std::uint64_t i = 0; i < 3; ++i) {
        scheduler->add(0, read_of(1, 1000 + i * 8));
        scheduler->add(0, read_of(2, 9'000'000 + i * 8));
    }
    EXPECT_EQ(drain(*scheduler, 0),
              (std::vector<std::uint64_t>{1000, 1008, 1016, 9'000'000, 9'000'008, 9'000'016}));
}

TEST(Cfq, waits_8_ms_for_the_next_request_of_a_context) {
    auto const scheduler = make_scheduler("cfq");
    scheduler->add(0, read_of(1, 1000));
    scheduler->add(0, read_of(2, 9'000'000));
    auto const first = scheduler->next(0);
    EXPECT_EQ(first->command.sector, 1000U);
    scheduler->finished(millisecond, *first);
    EXPECT_FALSE(scheduler->next(millisecond)) << "idle";
    EXPECT_EQ(scheduler->next_event(), 9 * millisecond);
    scheduler->add(3 * millisecond, read_of(1, 1008));
    EXPECT_EQ(scheduler->next(3 * millisecond)->command.sector, 1008U);
}

TEST(Cfq, does_not_wait_for_a_context_that_ends_with_its_request) {
    auto const scheduler = make_scheduler("cfq");
    auto request = read_of(1, 1000);
    request.context_lives = false;
    scheduler->add(0, request);
    scheduler->add(0, read_of(2, 9'000'000));
    auto const first = scheduler->next(0);
    scheduler->finished(millisecond, *first);
    EXPECT_EQ(scheduler->next(millisecond)->command.sector, 9'000'000U);
}

TEST(Cfq, a_slice_ends_after_100_ms) {
    auto const scheduler = make_scheduler("cfq");
    for (std::uint64_t i = 0; i < 200; ++i) scheduler->add(0, read_of(1, i * 8));
    scheduler->add(0, read_of(2, 9'000'000));
    auto const order = drain(*scheduler, 0);
    EXPECT_EQ(order[100], 9'000'000U) << "requests of 1 ms";
}

TEST(Cfq, writes_nobody_waits_for_do_not_delay_reads_by_idling) {
    auto const scheduler = make_scheduler("cfq");
    scheduler->add(0, write_of(5000));
    auto const first = scheduler->next(0);
    scheduler->add(0, read_of(1, 1000));
    scheduler->finished(millisecond, *first);
    EXPECT_EQ(scheduler->next(millisecond)->command.sector, 1000U);
}

}  // namespace
}  // namespace unisono::testbed
