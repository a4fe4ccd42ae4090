#include "simulated/scenario.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "simulated/patterns.hpp"
#include "simulated/planned.hpp"
#include "simulated/run_scenario.hpp"
#include "simulated/scale.hpp"
#include "simulated/shrink.hpp"
#include "simulated/sweep.hpp"

namespace unisono::simulated {
namespace {

// UNISONO_TEST_SEED=123 replays one; `simulate --seed 123` tells more.
std::vector<std::uint64_t> seeds() {
    if (auto const* one = std::getenv("UNISONO_TEST_SEED"))
        return {std::strtoull(one, nullptr, 10)};
#ifdef __SANITIZE_ADDRESS__
    constexpr std::uint64_t step = 4;  // each takes many times as long
#else
    constexpr std::uint64_t step = 1;
#endif
    std::vector<std::uint64_t> many;
    for (std::uint64_t seed = 0; seed < 600; seed += step) many.push_back(seed);
    return many;
}

TEST(Scenario, the_executor_does_what_mpi_wants_whatever_the_machine_does) {
    for (auto const seed : seeds()) {
        auto const scenario = make_scenario(seed);
        auto const judgement = run(scenario);
        ASSERT_FALSE(judgement.wrong()) << "seed " << seed << "\n"
                                        << judgement.text() << show(scenario);
    }
}

TEST(Scenario, a_seed_replays_the_same_run) {
    std::set<std::uint64_t> different;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        auto const digest = run(make_scenario(seed)).digest;
        EXPECT_EQ(run(make_scenario(seed)).digest, digest) << seed;
        different.insert(digest);
    }
    EXPECT_EQ(different.size(), 50u);
}

TEST(Scenario, a_stop_at_any_await_point_and_a_fault_at_any_access_do_no_harm) {
    std::size_t runs = 0;
    for (std::uint64_t seed = 41; seed < 43; ++seed) {
        auto const swept = sweep(make_scenario(seed));
        runs += swept.runs;
        if (!swept.failing) continue;
        ADD_FAILURE() << "seed " << seed << "\n"
                      << run(*swept.failing).text() << show(*swept.failing);
    }
    EXPECT_GT(runs, 200u);
}

/// The first seed that shows a mistake which is made on purpose.
Scenario find(Canary canary) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto scenario = make_scenario(seed, canary);
        if (run(scenario).wrong()) return scenario;
    }
    ADD_FAILURE() << "not found: " << name_of(canary);
    return make_scenario(0);
}

std::uint64_t bytes_of(Scenario const& scenario) {
    std::uint64_t bytes = 0;
    for (auto const& call : scenario.calls)
        for (auto const& request : call.requests) bytes += request.positions.bytes();
    return bytes;
}

// It forgets one of more than 100 bytes: 101 bytes of one rank show it, and nothing less.
TEST(Scenario, wrong_bytes_are_found_and_shrunk_to_the_least_that_shows_them) {
    auto const smallest = shrink(find(Canary::forgets_last_byte));
    EXPECT_FALSE(smallest.judgement.deadlocked());
    EXPECT_EQ(smallest.scenario.calls.size(), 1u);
    EXPECT_EQ(smallest.scenario.ranks(), 1u);
    EXPECT_EQ(bytes_of(smallest.scenario), 101u);
    EXPECT_TRUE(smallest.scenario.conditions.faults.empty());
    EXPECT_EQ(smallest.scenario.conditions.delay_ticks_max, 0u);
}

// One rank must ask for nothing, and another one must wait for it.
TEST(Scenario, a_deadlock_is_found_as_one_and_shrunk_to_two_ranks) {
    auto const smallest = shrink(find(Canary::leaves_when_empty));
    ASSERT_TRUE(smallest.judgement.deadlocked());
    EXPECT_EQ(smallest.scenario.calls.size(), 1u);
    EXPECT_EQ(smallest.scenario.ranks(), 2u);
    EXPECT_EQ(smallest.judgement.ended.deadlock.size(), 1u);
    EXPECT_NE(smallest.judgement.text().find("waits at a meeting"), std::string::npos);
}

TEST(Scenario, messages_that_overtake_each_other_are_found) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "who takes one message for another reads beyond its end";
#endif
    EXPECT_TRUE(run(find(Canary::lets_messages_overtake)).wrong());
}

ScaleCase case_of(std::uint32_t ranks, bool aggregate) {
    return {.ranks = ranks,
            .ranks_per_node = 16,
            .bytes_per_rank = 16 * 1024,
            .intra_node_aggregation = aggregate ? Switch::enable : Switch::disable,
            .cb_buffer_size = 64 * 1024};
}

// 512 ranks on 32 nodes with an aggregator each, four blocks a rank: 128 windows of 64 KiB, in each
// of which one node has a block of each of its ranks: node n in windows n, n + 32, n + 64, n + 96.
// All but 4 of these 128 are another node's: so often a rank, or a node, sends data, asks for some
// and gets them. Nobody says that there is nothing.
TEST(Scale, five_hundred_and_twelve_ranks_move_real_bytes_with_so_many_messages) {
    for (auto const aggregate : {false, true}) {
        auto const result = run(case_of(512, aggregate));
        EXPECT_EQ(result.wrong, "");
        EXPECT_GT(result.write_s, 0.0);
        EXPECT_EQ(result.aggregators, 32u);
        EXPECT_EQ(result.messages, 3u * 124 * (aggregate ? 1 : 16)) << aggregate;
    }
}

TEST(Scale, sizes_only_make_the_same_messages_and_times_as_real_bytes) {
    for (auto const aggregate : {false, true}) {
        auto scale = case_of(128, aggregate);
        auto const real = run(scale);
        scale.sizes_only = true;
        auto const sizes = run(scale);
        EXPECT_EQ(sizes.wrong, "");
        EXPECT_EQ(sizes.messages, real.messages);
        EXPECT_EQ(sizes.message_bytes, real.message_bytes);
        EXPECT_EQ(sizes.awaits, real.awaits);
        EXPECT_NEAR(sizes.write_s, real.write_s, 1e-9);
        EXPECT_NEAR(sizes.read_s, real.read_s, 1e-9);
    }
}

TEST(Scale, as_many_messages_are_counted_in_a_plan_as_are_sent) {
    std::uint64_t messages = 0;
    for (auto const& pattern : scale_patterns())
        for (auto const aggregate : {Switch::automatic, Switch::enable, Switch::disable})
            for (std::uint64_t const buffer : {0, 16 * 1024}) {
                auto scale = case_of(96, false);
                scale.pattern = pattern.name;
                scale.strategy = pattern.a_call_a_piece ? "auto" : "two_phase";
                scale.intra_node_aggregation = aggregate;
                scale.cb_buffer_size = buffer;
                auto const planned = plan_write(scale);
                auto const done = run(scale);
                EXPECT_EQ(planned.strategy, done.chosen) << pattern.name;
                EXPECT_EQ(planned.sent.messages * done.calls, done.write_messages) << pattern.name;
                EXPECT_EQ(planned.sent.fan_in, done.fan_in) << pattern.name;
                messages += planned.sent.messages;
            }
    EXPECT_GT(messages, 1000u);
}

}  // namespace
}  // namespace unisono::simulated
