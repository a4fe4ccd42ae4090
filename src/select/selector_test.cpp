#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <set>

#include "select/measuring_selector.hpp"
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

std::vector<Candidate> const candidates{{&two_phase}, {&independent}, {&disk_first}, {&lacio}};

// Plays a program of `calls` equal calls, ten times, and prints what it cost.
Ended play(char const* name, std::size_t calls, Timing const& timing) {
    Ended sum;
    constexpr int games = 10;
    for (int game = 0; game < games; ++game) {
        MeasuringSelector selector;
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
            auto const chosen = selector.choose(signature, candidates).candidate;
            auto const c = static_cast<std::size_t>(std::ranges::find(candidates, chosen) -
                                                    candidates.begin());
            selector.learn(signature, chosen, table[i][c]);
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
    std::vector<Candidate> const three{{&native}, {&core_first}, {&disk_first}};
    Signature const signature{.bytes = 1000};
    std::string order;
    for (int i = 0; i < 12; ++i) {
        auto const chosen = selector->choose(signature, three).candidate;
        auto const* const strategy = chosen.strategy;
        order += strategy == &native ? 'n' : strategy == &core_first ? 'c' : 'd';
        selector->learn(signature, chosen, strategy == &core_first ? 1.0 : 2.0);
    }
    EXPECT_EQ(order, "ncdncdncdccc");
}

TEST(PaperSelector, examines_again_when_the_signature_changes_or_throughput_deviates) {
    auto const selector = make_paper_selector();
    std::vector<Candidate> const two{{&native}, {&disk_first}};
    Signature signature{.bytes = 1000};
    auto const call = [&](double seconds) {
        auto const choice = selector->choose(signature, two);
        auto const slow = choice.candidate.strategy == &native;
        selector->learn(signature, choice.candidate, slow ? 9.0 : seconds);
        return choice.why == "examined";
    };
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(call(1.0));
    for (int i = 0; i < 50; ++i)
        EXPECT_FALSE(call(i % 5 < 2 ? 1.3 : 1.0)) << "the latest 25 have a mean of 0.91";
    for (int i = 0; i < 13; ++i)
        EXPECT_FALSE(call(1.3)) << "17 of the latest 25, a mean of 0.84, after the last of these";
    EXPECT_TRUE(call(1.3));
    for (int i = 0; i < 5; ++i) call(1.3);
    EXPECT_FALSE(call(1.3));
    signature.bytes = 2000;
    EXPECT_TRUE(call(1.0));
}

TEST(MeasuringSelector, finds_the_best_of_stable_candidates) {
    auto const ended = play("stable, the rule's choice is best", 100, [](auto c, auto, auto&) {
        return std::array{1.0, 1.3, 2.0, 5.0}[c];
    });
    EXPECT_LT(ended.regret, 0.06);
    auto const found = play("stable, another is twice as fast", 100, [](auto c, auto, auto&) {
        return std::array{2.0, 1.0, 3.0, 5.0}[c];
    });
    EXPECT_NEAR(found.regret, 0.10, 1e-9)
        << "four calls by the rule, 1 s more each; 2 and 4 s more";
    EXPECT_EQ(found.last_best, 20u);
}

TEST(MeasuringSelector, is_not_misled_by_noise) {
    auto const ended = play("20 % noise", 100, [](auto c, auto, auto& random) {
        return noisy(std::array{1.2, 1.0, 2.0, 1.5}[c], 0.2, random);
    });
    EXPECT_LT(ended.regret, 0.15);
    auto const equal = play("equal candidates, 10 % noise", 100,
                            [](auto, auto, auto& random) { return noisy(1.0, 0.1, random); });
    EXPECT_LT(equal.regret, 0.08);
    auto const bimodal =
        play("every fifth call takes three times as long", 200, [](auto c, auto, auto& random) {
            return std::array{1.0, 1.5, 2.0, 2.0}[c] * (random() % 5 == 0 ? 3 : 1);
        });
    EXPECT_LT(bimodal.regret, 0.25);
}

TEST(MeasuringSelector, notices_when_the_winner_gets_slower_for_good) {
    auto const ended =
        play("the best gets three times slower after 100", 400, [](auto c, auto i, auto& random) {
            return noisy(c == 0 && i >= 100 ? 3.0 : std::array{1.0, 1.5, 2.0, 2.0}[c], 0.05,
                         random);
        });
    EXPECT_GE(ended.last_best, 18u);
}

// The trials of the others have cost all that they may: it stayed with what had become slow.
TEST(MeasuringSelector, goes_back_to_the_first_when_another_was_fast_at_first_only) {
    auto const ended =
        play("the second is fast at first only", 60, [](auto c, auto i, auto& random) {
            return noisy(c == 1 && i > 20 ? 1.8 : std::array{1.0, 0.8, 4.0, 4.0}[c], 0.05, random);
        });
    EXPECT_GE(ended.last_best, 17u);
}

TEST(MeasuringSelector, does_not_try_what_a_short_run_cannot_afford) {
    auto const ended =
        play("30 calls, others are 3 to 10 times slower", 30, [](auto c, auto, auto&) {
            return std::array{1.0, 3.0, 6.0, 10.0}[c];
        });
    EXPECT_LE(ended.others, 1u);
    EXPECT_LT(ended.regret, 0.08);
}

TEST(MeasuringSelector, alternating_signatures_do_not_restart_each_other) {
    MeasuringSelector selector;
    Signature const write{.direction = Direction::write, .bytes = 1 << 20};
    Signature const read{.direction = Direction::read, .bytes = 1 << 20};
    for (int i = 0; i < 100; ++i) {
        auto const writer = selector.choose(write, candidates).candidate;
        selector.learn(write, writer, writer.strategy == &independent ? 1.0 : 1.5);
        auto const reader = selector.choose(read, candidates).candidate;
        selector.learn(read, reader, reader.strategy == &two_phase ? 1.0 : 1.5);
    }
    EXPECT_EQ(selector.choose(write, candidates).candidate.strategy, &independent);
    EXPECT_EQ(selector.choose(read, candidates).candidate.strategy, &two_phase);
}

TEST(MeasuringSelector, what_cannot_do_such_calls_is_not_tried_again) {
    MeasuringSelector selector;
    Signature const signature{.bytes = 1 << 20};
    for (int i = 0; i < 50; ++i) {
        auto const chosen = selector.choose(signature, candidates).candidate;
        if (chosen.strategy == &lacio)
            selector.refuse(signature, chosen);
        else
            selector.learn(signature, chosen, 1.0);
    }
    EXPECT_NE(selector.choose(signature, candidates).candidate.strategy, &lacio);
}

// lacio is four times as slow as the best for one class: for a similar one it is not tried before
// 60 calls can pay for it, 5 % of them being 3; and disk_first, the fastest, begins.
TEST(MeasuringSelector, similar_calls_teach_whom_to_try_first_and_whom_to_fear) {
    MeasuringSelector selector;
    auto const seconds = [](Candidate const& c) {
        return c.strategy == &disk_first ? 1.0 : c.strategy == &lacio ? 4.0 : 1.5;
    };
    Signature signature{.requests = 1 << 10, .bytes = 1 << 20};
    for (int i = 0; i < 300; ++i) {
        auto const chosen = selector.choose(signature, candidates).candidate;
        selector.learn(signature, chosen, seconds(chosen));
    }
    signature = {.requests = 1 << 11, .bytes = 1 << 22};
    EXPECT_EQ(selector.choose(signature, candidates).candidate.strategy, &disk_first);
    for (int i = 0; i < 60; ++i) {
        auto const chosen = selector.choose(signature, candidates).candidate;
        EXPECT_NE(chosen.strategy, &lacio) << i;
        selector.learn(signature, chosen, seconds(chosen));
    }
}

// Windows are made once for each communicator: the second class's candidates need no more.
TEST(MeasuringSelector, what_one_class_has_set_up_is_there_for_the_next) {
    std::vector<Candidate> const with_windows{
        {&independent}, {&two_phase, Candidate::Variation::none, 0, windows_setup_s}};
    MeasuringSelector selector;
    auto const tried_at = [&](Signature const& signature) {
        for (int call = 1;; ++call) {
            auto const chosen = selector.choose(signature, with_windows).candidate;
            selector.learn(signature, chosen, 1e-3);
            if (chosen.strategy == &two_phase || call == 1000) return call;
        }
    };
    auto const first = tried_at({.requests = 10, .bytes = 1 << 20});
    EXPECT_NEAR(first, 51, 1) << "2 ms are 4 % of 50 calls";
    EXPECT_EQ(tried_at({.requests = 10, .bytes = 1 << 22}), 5) << "the first four are left alone";
}

TEST(MeasuringSelector, other_storage_is_other_calls) {
    MeasuringSelector selector;
    Signature const here{.bytes = 1 << 20, .storage_key = 1};
    Signature const there{.bytes = 1 << 20, .storage_key = 2};
    for (int i = 0; i < 50; ++i) {
        auto const chosen = selector.choose(here, candidates).candidate;
        selector.learn(here, chosen, chosen.strategy == &lacio ? 1.0 : 1.5);
    }
    EXPECT_EQ(selector.choose(here, candidates).candidate.strategy, &lacio);
    EXPECT_EQ(selector.choose(there, candidates).candidate.strategy, &two_phase);
}

TEST(MeasuringSelector, the_next_run_begins_with_what_this_one_has_learnt) {
    Signature const signature{.ranks = 4, .requests = 100, .bytes = 1 << 20};
    Memory memory;
    {
        MeasuringSelector selector;
        EXPECT_FALSE(selector.has_unsaved());
        for (int i = 0; i < 40; ++i) {
            auto const chosen = selector.choose(signature, candidates).candidate;
            selector.learn(signature, chosen, chosen.strategy == &disk_first ? 1.0 : 1.5);
        }
        EXPECT_TRUE(selector.has_unsaved());
        memory.records = selector.take_unsaved();
        EXPECT_FALSE(selector.has_unsaved());
    }
    MeasuringSelector selector;
    selector.remember(memory);
    for (int i = 0; i < 40; ++i) {
        auto const chosen = selector.choose(signature, candidates).candidate;
        EXPECT_EQ(chosen.strategy, &disk_first) << i;
        selector.learn(signature, chosen, 1.0);
    }
    EXPECT_FALSE(selector.has_unsaved()) << "it was known already";
}

TEST(MeasuringSelector, ranks_that_are_told_the_same_choose_the_same) {
    std::array<MeasuringSelector, 3> ranks;
    std::mt19937_64 random(1);
    std::set<Strategy const*> different;
    for (int i = 0; i < 300; ++i) {
        Signature const signature{.requests = 10U << (random() % 4), .bytes = 1 << 20};
        auto const chosen = ranks[0].choose(signature, candidates).candidate;
        different.insert(chosen.strategy);
        for (auto& rank : ranks) {
            EXPECT_EQ(rank.choose(signature, candidates).candidate, chosen);
            rank.learn(signature, chosen, 0);
        }
        auto const seconds = 1 + 1e-3 * static_cast<double>(random() % 1000);
        for (auto& rank : ranks) rank.learn(signature, chosen, seconds);
    }
    EXPECT_EQ(different.size(), candidates.size()) << "all of them are tried";
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
        .ranks = 4, .requests = 1000, .bytes = 70000, .relative_offset = 100, .request_hash = 1};
    Signature const two{
        .ranks = 4, .requests = 1020, .bytes = 71000, .relative_offset = 101, .request_hash = 2};
    EXPECT_NE(one, two);
    EXPECT_EQ(class_of(one), class_of(two));
    EXPECT_EQ(describe_class(class_of(one)),
              "writes of 64 KiB or more, in 512 pieces or more, gaps of 64 B or more, 4 ranks on 0 "
              "nodes");
    auto more_ranks = two;
    more_ranks.ranks = 8;
    EXPECT_NE(class_of(one), class_of(more_ranks));
}

}  // namespace
}  // namespace unisono
