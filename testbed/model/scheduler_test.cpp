#include "model/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

// ---- what CFQ and BFQ have alike
// -----------------------------------------------------------------

class Idling : public testing::TestWithParam<char const*> {};
INSTANTIATE_TEST_SUITE_P(Schedulers, Idling, testing::Values("cfq", "bfq"));

TEST_P(Idling, waits_8_ms_for_the_next_request_of_a_context) {
    auto const scheduler = make_scheduler(GetParam());
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

TEST_P(Idling, does_not_wait_for_a_context_that_ends_with_its_request) {
    auto const scheduler = make_scheduler(GetParam());
    auto request = read_of(1, 1000);
    request.context_lives = false;
    scheduler->add(0, request);
    scheduler->add(0, read_of(2, 9'000'000));
    auto const first = scheduler->next(0);
    scheduler->finished(millisecond, *first);
    EXPECT_EQ(scheduler->next(millisecond)->command.sector, 9'000'000U);
}

TEST_P(Idling, writes_nobody_waits_for_do_not_delay_reads_by_idling) {
    auto const scheduler = make_scheduler(GetParam());
    scheduler->add(0, write_of(5000));
    auto const first = scheduler->next(0);
    scheduler->add(0, read_of(1, 1000));
    scheduler->finished(millisecond, *first);
    EXPECT_EQ(scheduler->next(millisecond)->command.sector, 1000U);
}

// ---- CFQ-like
// ------------------------------------------------------------------------------------

TEST(Cfq, serves_one_context_after_the_other_and_not_in_turn) {
    auto const scheduler = make_scheduler("cfq");
    for (std::uint64_t i = 0; i < 3; ++i) {
        scheduler->add(0, read_of(1, 1000 + i * 8));
        scheduler->add(0, read_of(2, 9'000'000 + i * 8));
    }
    EXPECT_EQ(drain(*scheduler, 0),
              (std::vector<std::uint64_t>{1000, 1008, 1016, 9'000'000, 9'000'008, 9'000'016}));
}

TEST(Cfq, a_slice_ends_after_100_ms) {
    auto const scheduler = make_scheduler("cfq");
    for (std::uint64_t i = 0; i < 200; ++i) scheduler->add(0, read_of(1, i * 8));
    scheduler->add(0, read_of(2, 9'000'000));
    auto const order = drain(*scheduler, 0);
    EXPECT_EQ(order[100], 9'000'000U) << "requests of 1 ms";
}

// ---- BFQ-like
// ------------------------------------------------------------------------------------

BlockRequest large_read_of(std::uint64_t context, std::uint64_t sector, std::uint64_t sectors) {
    auto request = read_of(context, sector);
    request.command.sectors = sectors;
    return request;
}

// Derivation: the first budget is 2/3 of 16 * 1024 = 10,922 sectors: ten requests of 1024. Then the
// other one's, which ends at 10,922 as well, is due; the next is four times as much, but at most
// 16 * 1024: sixteen requests.
TEST(Bfq, a_turn_ends_with_the_budget_and_the_next_budget_is_larger) {
    auto const scheduler = make_scheduler("bfq");
    for (std::uint64_t i = 0; i < 60; ++i)
        for (std::uint64_t const context : {1, 2})
            scheduler->add(0, large_read_of(context, context * 9'000'000 + i * 1024, 1024));
    std::vector<std::size_t> runs{0};
    std::uint64_t previous = 1;
    for (auto const sector : drain(*scheduler, 0)) {
        auto const context = sector / 9'000'000;
        if (context != previous) runs.push_back(0);
        previous = context;
        ++runs.back();
    }
    ASSERT_GE(runs.size(), 4U);
    EXPECT_EQ(std::vector<std::size_t>(runs.begin(), runs.begin() + 4),
              (std::vector<std::size_t>{10, 10, 16, 16}));
}

// Large requests and small ones: the same number of sectors, give or take a budget.
TEST(Bfq, contexts_share_sectors_and_not_time) {
    auto const scheduler = make_scheduler("bfq");
    for (std::uint64_t i = 0; i < 8000; ++i) scheduler->add(0, large_read_of(1, i * 128, 128));
    for (std::uint64_t i = 0; i < 8000; ++i)
        scheduler->add(0, large_read_of(2, 9'000'000 + i * 512, 512));
    std::array<std::uint64_t, 2> sectors{};
    Time now = 0;
    for (int i = 0; i < 5000; ++i, now += 10 * microsecond) {
        auto const request = scheduler->next(now);
        ASSERT_TRUE(request);
        sectors[request->context - 1] += request->command.sectors;
        scheduler->finished(now, *request);
    }
    EXPECT_NEAR(static_cast<double>(sectors[0]), static_cast<double>(sectors[1]), 2 * 16 * 1024);
    EXPECT_GT(sectors[0], 400'000U);
}

// 20 ms for each small request: after 125 ms it is the other's turn, and the slow one has paid for
// a whole budget, so the other one uses up at least as much before it comes again.
TEST(Bfq, who_is_too_slow_pays_for_the_whole_budget) {
    auto const scheduler = make_scheduler("bfq");
    for (std::uint64_t i = 0; i < 50; ++i) scheduler->add(0, read_of(1, i * 400'000));
    for (std::uint64_t i = 0; i < 50; ++i)
        scheduler->add(0, large_read_of(2, 90'000'000 + i * 1024, 1024));
    std::vector<std::uint64_t> order;
    for (Time now = 0; order.size() < 40;) {
        auto const request = scheduler->next(now);
        ASSERT_TRUE(request);
        order.push_back(request->context);
        now += (request->context == 1 ? 20 : 1) * millisecond;
        scheduler->finished(now, *request);
    }
    auto const first_of_other = std::ranges::find(order, 2U);
    EXPECT_EQ(first_of_other - order.begin(), 7) << "125 ms";
    auto const again = std::find(first_of_other, order.end(), 1U);
    EXPECT_GE((again - first_of_other) * 1024, 2 * 16 * 1024 / 3 - 1024);
}

TEST(Bfq, gives_everything_that_was_added_once) {
    auto const scheduler = make_scheduler("bfq");
    std::vector<std::uint64_t> added;
    for (std::uint64_t i = 0; i < 500; ++i) {
        auto request = i % 7 == 0 ? write_of(i * 8) : read_of(i % 20, i * 8);
        request.context_lives = i % 3 != 0;
        scheduler->add(0, request);
        added.push_back(i * 8);
    }
    auto order = drain(*scheduler, 0);
    std::ranges::sort(order);
    EXPECT_EQ(order, added);
}

}  // namespace
}  // namespace unisono::testbed
