#include "select/selector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

#include "strategies/all.hpp"

namespace unisono {
namespace {

/// How long candidate c takes for call i, in seconds.
using Timing = std::function<double(std::size_t c, std::size_t i, std::mt19937_64& random)>;

struct Ended {
    double regret = 0;          ///< time over that of the best fixed candidate, minus 1
    std::size_t others = 0;     ///< calls not done by the best fixed candidate
    std::size_t last_best = 0;  ///< of the last 20 calls, done by the best in those
};

std::vector<Strategy const*> const candidates{&two_phase, &independent, &disk_first, &lacio};

// Plays a program of `calls` equal calls, ten times, and prints what it cost.
template <auto make>
Ended play(char const* name, std::size_t calls, Timing const& timing) {
    Ended sum;
    constexpr int games = 10;
    for (int game = 0; game < games; ++game) {
        auto const selector = make();
        std::mt19937_64 random(static_cast<std::uint64_t>(game));
        Signature const signature{.ranks = 4, .requests = 100, .bytes = 1 << 20};
        std::vector<double> fixed(candidates.size(), 0);
        std::vector<std::vector<double>> table(calls, std::vector<double>(candidates.size()));
        for (std::size_t i = 0; i < calls; ++i)
            for (std::size_t c = 0; c < candidates.size(); ++c)
                fixed[c] += table[i][c] = timing(c, i, random);
        auto const best = static_cast<std::size_t>(std::ranges::min_element(fixed) - fixed.begin());
        double spent = 0;
        for (std::size_t i = 0; i < calls; ++i) {
            auto const* const chosen = selector->choose(signature, candidates).strategy;
            auto const c = static_cast<std::size_t>(std::ranges::find(candidates, chosen) -
                                                    candidates.begin());
            selector->learn(signature, chosen, table[i][c]);
            spent += table[i][c];
            sum.others += c != best;
            auto const now =
                static_cast<std::size_t>(std::ranges::min_element(table[i]) - table[i].begin());
            sum.last_best += i + 20 >= calls && c == now;
        }
        sum.regret += (spent / fixed[best] - 1) / games;
    }
    std::printf("%-44s %4zu calls: %5.1f %% over the best fixed, %5.1f calls by others\n", name,
                calls, 100 * sum.regret, static_cast<double>(sum.others) / games);
    return {sum.regret, sum.others / games, sum.last_best / games};
}

double noisy(double seconds, double share, std::mt19937_64& random) {
    return seconds * std::exp(std::normal_distribution<>{0, share}(random));
}

TEST(PaperSelector, examines_three_calls_each_in_rotation_and_keeps_the_best) {
    auto const selector = make_paper_selector();
    std::vector<Strategy const*> const three{&native, &core_first, &disk_first};
    Signature const signature{.bytes = 1000};
    std::string order;
    for (int i = 0; i < 12; ++i) {
        auto const* const chosen = selector->choose(signature, three).strategy;
        order += chosen == &native ? 'n' : chosen == &core_first ? 'c' : 'd';
        selector->learn(signature, chosen, chosen == &core_first ? 1.0 : 2.0);
    }
    EXPECT_EQ(order, "ncdncdncdccc");
}

TEST(PaperSelector, examines_again_when_the_signature_changes_or_throughput_deviates) {
    auto const selector = make_paper_selector();
    std::vector<Strategy const*> const two{&native, &disk_first};
    Signature signature{.bytes = 1000};
    auto const call = [&](double seconds) {
        auto const choice = selector->choose(signature, two);
        selector->learn(signature, choice.strategy, choice.strategy == &native ? 9.0 : seconds);
        return choice.why == "examined";
    };
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(call(1.0));
    EXPECT_FALSE(call(1.1)) << "9 % slower";
    EXPECT_FALSE(call(1.3)) << "the deviation is seen after this call";
    EXPECT_TRUE(call(1.3));
    for (int i = 0; i < 5; ++i) call(1.3);
    EXPECT_FALSE(call(1.3));
    signature.bytes = 2000;
    EXPECT_TRUE(call(1.0));
}

TEST(MeasuringSelector, finds_the_best_of_stable_candidates) {
    auto const ended = play<make_measuring_selector>("stable, the rule's choice is best", 100,
                                                     [](auto c, auto, auto&) {
                                                         return std::array{1.0, 1.3, 2.0, 5.0}[c];
                                                     });
    EXPECT_LT(ended.regret, 0.06);
    auto const found = play<make_measuring_selector>("stable, another is twice as fast", 100,
                                                     [](auto c, auto, auto&) {
                                                         return std::array{2.0, 1.0, 3.0, 5.0}[c];
                                                     });
    EXPECT_LT(found.regret, 0.10);
    EXPECT_EQ(found.last_best, 20u);
}

TEST(MeasuringSelector, is_not_misled_by_noise) {
    auto const ended =
        play<make_measuring_selector>("20 % noise", 100, [](auto c, auto, auto& random) {
            return noisy(std::array{1.2, 1.0, 2.0, 1.5}[c], 0.2, random);
        });
    EXPECT_LT(ended.regret, 0.15);
    auto const equal = play<make_measuring_selector>(
        "equal candidates, 10 % noise", 100,
        [](auto, auto, auto& random) { return noisy(1.0, 0.1, random); });
    EXPECT_LT(equal.regret, 0.08);
    auto const bimodal = play<make_measuring_selector>(
        "every fifth call takes three times as long", 200, [](auto c, auto, auto& random) {
            return std::array{1.0, 1.5, 2.0, 2.0}[c] * (random() % 5 == 0 ? 3 : 1);
        });
    EXPECT_LT(bimodal.regret, 0.25);
}

TEST(MeasuringSelector, notices_when_the_winner_gets_slower_for_good) {
    auto const ended = play<make_measuring_selector>(
        "the best gets three times slower after 100", 400, [](auto c, auto i, auto& random) {
            return noisy(c == 0 && i >= 100 ? 3.0 : std::array{1.0, 1.5, 2.0, 2.0}[c], 0.05,
                         random);
        });
    EXPECT_GE(ended.last_best, 18u);
}

TEST(MeasuringSelector, does_not_try_what_a_short_run_cannot_afford) {
    auto const ended = play<make_measuring_selector>("30 calls, others are 3 to 10 times slower",
                                                     30, [](auto c, auto, auto&) {
                                                         return std::array{1.0, 3.0, 6.0, 10.0}[c];
                                                     });
    EXPECT_LE(ended.others, 1u);
    EXPECT_LT(ended.regret, 0.08);
}

TEST(MeasuringSelector, alternating_signatures_do_not_restart_each_other) {
    auto const selector = make_measuring_selector();
    Signature const write{.direction = Direction::write, .bytes = 1 << 20};
    Signature const read{.direction = Direction::read, .bytes = 1 << 20};
    for (int i = 0; i < 100; ++i) {
        auto const* const writer = selector->choose(write, candidates).strategy;
        selector->learn(write, writer, writer == &independent ? 1.0 : 1.5);
        auto const* const reader = selector->choose(read, candidates).strategy;
        selector->learn(read, reader, reader == &two_phase ? 1.0 : 1.5);
    }
    EXPECT_EQ(selector->choose(write, candidates).strategy, &independent);
    EXPECT_EQ(selector->choose(read, candidates).strategy, &two_phase);
}

TEST(MeasuringSelector, what_cannot_do_such_calls_is_not_tried_again) {
    auto const selector = make_measuring_selector();
    Signature const signature{.bytes = 1 << 20};
    for (int i = 0; i < 50; ++i) {
        auto const* const chosen = selector->choose(signature, candidates).strategy;
        if (chosen == &lacio)
            selector->refuse(signature, chosen);
        else
            selector->learn(signature, chosen, 1.0);
    }
    EXPECT_NE(selector->choose(signature, candidates).strategy, &lacio);
}

// Four ranks' pieces of 64 bytes in turn, 100 each: 400 pieces without a gap.
TEST(Signature, relative_offset_telescopes) {
    auto const topology = make_topology({0, 0, 0, 0});
    Facts facts{
        .topology = &topology, .touched = {1000, 1000 + 25600}, .bytes = 25600, .pieces = 400};
    EXPECT_EQ(signature_of(facts).relative_offset, 0);
    facts.touched.end += 399 * 36;
    EXPECT_EQ(signature_of(facts).relative_offset, 36);
    facts.pieces = 1;
    EXPECT_EQ(signature_of(facts).relative_offset, 0);
}

TEST(Signature, sizes_that_vary_slightly_fall_into_one_class) {
    Signature const one{
        .ranks = 4, .requests = 1000, .bytes = 70000, .relative_offset = 100, .shapes = 1};
    Signature const two{
        .ranks = 4, .requests = 1020, .bytes = 71000, .relative_offset = 101, .shapes = 2};
    EXPECT_NE(one, two);
    EXPECT_EQ(class_of(one), class_of(two));
    auto more_ranks = two;
    more_ranks.ranks = 8;
    EXPECT_NE(class_of(one), class_of(more_ranks));
}

}  // namespace
}  // namespace unisono
