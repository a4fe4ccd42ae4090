#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "orchestra/policies/payoff.hpp"
#include "orchestra/policies/slices.hpp"
#include "orchestra/policy.hpp"
#include "orchestra/status.hpp"

namespace unisono::orchestra {
namespace {

constexpr Time ms = millisecond;

// A program that reads one file in order on two servers, and is far from the others.
ProgramReport program(std::string id, double file) {
    return {.id = std::move(id),
            .under_way = 1,
            .files = {file},
            .servers = {2, ServerPart{.requests = 100,
                                      .bytes = 1e6,
                                      .gap_sectors = 128,
                                      .open_ms = 9,
                                      .open_samples = 64,
                                      .slow_ms = 10,
                                      .slow_share = 0.5,
                                      .gap_sectors_linux = 128}}};
}

ProgramReport with_dedicated(ProgramReport report, double dedicated_ms) {
    for (auto& server : report.servers) {
        server.dedicated_ms = server.reuse_ms = server.reuse_ms_linux = dedicated_ms;
        server.dedicated_samples = server.reuse_samples = 64;
    }
    return report;
}

Report report_of(std::vector<ProgramReport> programs) {
    return {.now_ms = 1e5,
            .capacity_bytes = 160e9,
            .gap_sectors = {1e7, 1e7},
            .gap_sectors_linux = {1e7, 1e7},
            .pool_reuse_ms = {8, 8},
            .pool_reuse_ms_linux = {8, 8},
            .pool_reuse_samples = {10, 10},
            .programs = std::move(programs)};
}

PolicySettings settings() {
    return {.window = 500 * ms, .seek = SeekProfile::desktop_7200rpm(160e9)};
}

Time slices_of(Decision const& decision) {
    return std::accumulate(decision.objects.begin(), decision.objects.end(), Time{0},
                           [](Time sum, auto const& object) { return sum + object.slice; });
}

// ---- what they share
// -----------------------------------------------------------------------------

TEST(Slices, are_in_proportion_within_their_bounds) {
    EXPECT_EQ(proportional_slices(500 * ms, {3, 1, 1}),
              (std::vector<Time>{300 * ms, 100 * ms, 100 * ms}));
    // 98 : 1 : 1 of 500 would be 490, 5, 5: at least 30 and at most 350.
    auto const bounded = bounded_slices(500 * ms, {98, 1, 1}, 30 * ms, 350 * ms);
    EXPECT_EQ(bounded[0], 350 * ms);
    EXPECT_NEAR(to_ms(bounded[1]), 75, 0.001) << "what the first cannot have goes to the others";
    EXPECT_EQ(bounded_slices(90 * ms, {5, 1, 1}, 40 * ms, 70 * ms), (std::vector<Time>(3, 30 * ms)))
        << "three floors do not fit";
}

TEST(Policies, have_a_table_with_the_default_first) {
    EXPECT_EQ(policies().front().name, "default");
    EXPECT_EQ(policies().size(), 7U);
    EXPECT_NE(find_policy("one-at-a-time"), nullptr);
    EXPECT_EQ(find_policy("best"), nullptr);
}

TEST(Policies, hold_nobody_when_there_is_one_program_or_none) {
    for (auto const& entry : policies()) {
        auto const policy = entry.make(settings());
        for (int window = 0; window < 20; ++window) {
            EXPECT_TRUE(policy->decide(report_of({program("A", 1)})).objects.size() <= 1)
                << entry.name;
            EXPECT_TRUE(policy->decide(report_of({})).objects.empty()) << entry.name;
        }
    }
}

TEST(Policies, never_forget_a_program_that_waits) {
    for (auto const& entry : policies()) {
        auto const policy = entry.make(settings());
        for (int window = 0; window < 200; ++window) {
            auto const decision =
                policy->decide(report_of({with_dedicated(program("A", 1), 3), program("B", 2),
                                          with_dedicated(program("C", 3), 30)}));
            EXPECT_EQ(decision.eligibilities.size(), 3U) << entry.name;
            EXPECT_GT(decision.window, 0) << entry.name;
            if (decision.objects.empty()) continue;
            bool pool = false;
            std::size_t named = 0;
            for (auto const& object : decision.objects) {
                pool |= object.programs.empty();
                named += object.programs.size();
            }
            EXPECT_TRUE(pool || named == 3) << entry.name;
            Schedule const schedule{.epoch = 1, .lease = second, .objects = decision.objects};
            EXPECT_TRUE(parse_schedule(show(schedule))) << entry.name << " " << show(schedule);
        }
    }
}

// ---- the paper
// -----------------------------------------------------------------------------------

// Derivation: gaps of all 10^7 sectors at both servers, of A and B 128, so ratio 78125; B is not
// consistent (128 and 400: mean 264, deviation 136 = 52 %). RD_A = 3 ms, RD of the pool 8 ms:
//   slice_A = 500 * (1/3) / (1/3 + 1/8) = 363.6 ms, slice_pool = 136.4 ms
TEST(PaperPolicy, slices_are_inverse_to_reuse_distances) {
    auto const policy = make_paper_policy(settings());
    auto inconsistent = program("B", 2);
    inconsistent.servers[1].gap_sectors = 400;
    auto const decision =
        policy->decide(report_of({with_dedicated(program("A", 1), 3), inconsistent}));
    ASSERT_EQ(decision.objects.size(), 2U);
    std::printf("expectation: A 363.6 ms, pool 136.4 ms\nresult:      A %.1f ms, pool %.1f ms\n",
                to_ms(decision.objects[0].slice), to_ms(decision.objects[1].slice));
    EXPECT_NEAR(to_ms(decision.objects[0].slice), 363.64, 0.01);
    EXPECT_NEAR(to_ms(decision.objects[1].slice), 136.36, 0.01);
    EXPECT_TRUE(decision.objects[1].programs.empty()) << "the pool";
    EXPECT_FALSE(decision.work_conserving);
    EXPECT_TRUE(decision.eligibilities[0].eligible);
    EXPECT_EQ(decision.eligibilities[1].why.substr(0, 2), "1:");
}

// The servers differ by 52 % in the means as written, and not at all in those with Linux's weights.
TEST(PaperPolicy, with_linux_weights_looks_at_the_other_means) {
    auto flapping = program("A", 1);
    flapping.servers[1].gap_sectors = 400;
    auto const report = report_of({flapping, program("B", 2)});
    EXPECT_FALSE(make_paper_policy(settings())->decide(report).eligibilities[0].eligible);
    EXPECT_TRUE(make_paper_linux_policy(settings())->decide(report).eligibilities[0].eligible);
}

// A waits 20 ms for its next request; to seek over 10^7 sectors takes less.
TEST(PaperPolicy, the_third_condition_is_for_those_who_had_a_slice) {
    auto const policy = make_paper_policy(settings());
    auto const report = report_of({with_dedicated(program("A", 1), 20), program("B", 2)});
    EXPECT_TRUE(policy->decide(report).eligibilities[0].eligible);
    EXPECT_EQ(policy->decide(report).eligibilities[0].why.substr(0, 2), "3:");
    EXPECT_TRUE(policy->decide(report).eligibilities[0].eligible)
        << "no slice in the window before";
}

// What dedicated service does to SL_i takes away the second condition: the gap that is written.
TEST(PaperPolicy, forgets_why_when_its_slices_work) {
    auto const policy = make_paper_policy(settings());
    auto report = report_of({program("A", 1), program("B", 2)});
    EXPECT_EQ(policy->decide(report).objects.size(), 2U);
    report.gap_sectors = {128, 128};
    EXPECT_TRUE(policy->decide(report).objects.empty());
}

// SL_i says something of all programs only where all are served together.
TEST(PaperPolicy, remembers_why_in_the_third_reading) {
    auto const policy = make_paper_kept_policy(settings());
    auto report = report_of({program("A", 1), program("B", 2)});
    EXPECT_EQ(policy->decide(report).objects.size(), 2U);
    report.gap_sectors_linux = {128, 128};
    EXPECT_EQ(policy->decide(report).objects.size(), 2U) << "slices keep them apart";
    auto const slow =
        report_of({with_dedicated(program("A", 1), 20), with_dedicated(program("B", 2), 20)});
    EXPECT_TRUE(policy->decide(slow).objects.empty()) << "the third condition ends them";
    EXPECT_TRUE(policy->decide(report).objects.empty()) << "and without slices SL_i counts anew";
}

// ---- the default
// ---------------------------------------------------------------------------------

struct Default {
    std::unique_ptr<Policy> policy = make_default_policy(settings());

    Decision after(int windows, Report const& report) const {
        Decision decision;
        for (int window = 0; window < windows; ++window) decision = policy->decide(report);
        return decision;
    }
};

TEST(DefaultPolicy, tries_then_keeps_what_is_cheaper) {
    Default const the;
    auto const unknown = report_of({program("A", 1), program("B", 2)});
    EXPECT_EQ(the.after(4, unknown).eligibilities[0].why, "watched first") << "but not for long";
    auto const trial = the.after(1, unknown);
    ASSERT_EQ(trial.objects.size(), 2U);
    EXPECT_EQ(trial.objects[0].slice, 250 * ms);
    EXPECT_EQ(trial.eligibilities[0].why, "on trial");
    EXPECT_TRUE(trial.work_conserving);
    EXPECT_EQ(the.after(2, unknown).eligibilities[0].why, "on trial") << "nothing to compare yet";
    // Open 9 ms per request, alone 3: both are eligible, with slices of their own.
    auto const known =
        report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)});
    auto const kept = the.after(3, known);
    ASSERT_EQ(kept.objects.size(), 2U);
    EXPECT_TRUE(kept.eligibilities[0].eligible);
    EXPECT_EQ(slices_of(kept), 500 * ms);
}

TEST(DefaultPolicy, leaves_those_alone_for_whom_it_is_not_cheaper) {
    Default const the;
    auto const report =
        report_of({with_dedicated(program("A", 1), 8.8), with_dedicated(program("B", 2), 9.5)});
    EXPECT_EQ(the.after(5, report).objects.size(), 2U) << "the trial";
    for (int window = 0; window < 4; ++window)
        EXPECT_TRUE(the.policy->decide(report).objects.empty());
    EXPECT_EQ(the.policy->decide(report).objects.size(), 2U) << "the second trial";
    for (int window = 0; window < 8; ++window)
        EXPECT_TRUE(the.policy->decide(report).objects.empty());
    int tried = 0;
    for (int window = 0; window < 400; ++window)
        tried += the.policy->decide(report).objects.empty() ? 0 : 1;
    EXPECT_GT(tried, 0) << "things may have changed";
    EXPECT_LE(tried, 20) << "trials cost, so they get rarer";
}

// Short slices, and a program's first moments, may hide what longer ones bring.
TEST(DefaultPolicy, tries_longer_slices_each_time_until_there_are_others) {
    Default const the{make_default_policy({})};
    auto report =
        report_of({with_dedicated(program("A", 1), 8.8), with_dedicated(program("B", 2), 9.5)});
    for (auto const slice : {62.5 * ms, 120.0 * ms, 240.0 * ms}) {
        auto decision = the.after(1, report);
        for (int window = 0; window < 100 && decision.objects.empty(); ++window)
            decision = the.policy->decide(report);
        ASSERT_EQ(decision.objects.size(), 2U);
        EXPECT_EQ(decision.objects[0].slice, slice);
    }
    report.programs[1].id = "C";
    auto decision = the.after(1, report);
    for (int window = 0; window < 10 && decision.objects.empty(); ++window)
        decision = the.policy->decide(report);
    ASSERT_EQ(decision.objects.size(), 2U);
    EXPECT_EQ(decision.objects[0].slice, 62.5 * ms);
}

TEST(DefaultPolicy, one_window_against_does_not_end_it) {
    Default const the;
    auto const good =
        report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)});
    auto const bad =
        report_of({with_dedicated(program("A", 1), 10), with_dedicated(program("B", 2), 10)});
    the.after(6, good);
    EXPECT_EQ(the.after(1, bad).objects.size(), 2U);
    EXPECT_EQ(the.after(1, good).objects.size(), 2U);
    EXPECT_EQ(the.after(1, bad).objects.size(), 2U) << "not twice in a row";
    EXPECT_TRUE(the.after(1, bad).objects.empty());
}

TEST(DefaultPolicy, does_nothing_on_storage_without_seeks) {
    Default const the;
    auto quick = [](std::string id, double file) {
        auto report = with_dedicated(program(std::move(id), file), 0.1);
        for (auto& server : report.servers) server.slow_share = 0.001;
        return report;
    };
    auto const report = report_of({quick("A", 1), quick("B", 2)});
    for (int window = 0; window < 500; ++window) {
        auto const decision = the.policy->decide(report);
        ASSERT_TRUE(decision.objects.empty());
        EXPECT_EQ(decision.eligibilities[0].why, "seeks cost a request 0.01 ms; limit 0.1");
    }
}

TEST(DefaultPolicy, programs_that_use_a_file_together_are_served_together) {
    Default const the;
    auto const decision = the.after(
        10, report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 1), 3),
                       with_dedicated(program("C", 2), 3)}));
    ASSERT_EQ(decision.objects.size(), 2U);
    EXPECT_EQ(decision.objects[0].programs, std::vector<std::string>{"C"});
    EXPECT_TRUE(decision.objects[1].programs.empty()) << "A and B are the pool";
    EXPECT_EQ(decision.eligibilities[0].why, "uses files together with others");
}

// Derivation: a request that waits for the head takes 10 ms. Two programs: 2 * 10 / 3 % = 667 ms.
// Before they are kept it watches for 125 ms at a time, and tries slices of 60 ms, 125 in all.
TEST(DefaultPolicy, derives_its_window_from_what_a_switch_costs) {
    Default const the{make_default_policy({})};
    auto report =
        report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)});
    EXPECT_EQ(the.after(1, report).window, 125 * ms) << "watched";
    EXPECT_EQ(slices_of(the.after(4, report)), 125 * ms) << "on trial";
    auto const kept = to_ms(the.after(1, report).window);
    std::printf("expectation: 666.7 ms\nresult:      %.1f ms\n", kept);
    EXPECT_NEAR(kept, 666.7, 0.1);
    for (auto& one : report.programs)
        for (auto& server : one.servers) server.slow_ms = 1.5;
    EXPECT_EQ(the.after(1, report).window, 125 * ms) << "not below";
}

TEST(DefaultPolicy, a_program_that_asks_for_next_to_nothing_ends_no_slices) {
    Default const the;
    auto report =
        report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)});
    the.after(7, report);
    report.programs.push_back(program("C", 3));
    for (auto& server : report.programs.back().servers) server.open_samples = 3;
    auto const decision = the.after(1, report);
    ASSERT_EQ(decision.objects.size(), 3U);
    EXPECT_TRUE(decision.objects[2].programs.empty()) << "C is in the pool";
}

// Requests of 6 s alone, 20 s else. It waited twice as long for the next one, which no gate takes:
// the gate was open instead, and the policy none the wiser.
TEST(DefaultPolicy, gives_turns_that_a_gate_takes_to_programs_with_very_long_requests) {
    Default const the;
    auto report =
        report_of({with_dedicated(program("A", 1), 6000), with_dedicated(program("B", 1), 6000),
                   with_dedicated(program("C", 2), 6000)});
    for (auto& one : report.programs)
        for (auto& server : one.servers) server.open_ms = server.slow_ms = 20e3;
    EXPECT_EQ(the.after(5, report).eligibilities[0].why, "on trial");
    auto const kept = the.after(1, report);
    ASSERT_EQ(kept.objects.size(), 2U);
    EXPECT_TRUE(parse_schedule(show(Schedule{1, second, true, kept.objects})));
}

// B was too slow in the trial to be measured, and would never have been in its own slices again.
TEST(DefaultPolicy, who_is_in_the_pool_is_tried_again_after_a_look) {
    Default const the;
    auto const at_first = report_of({with_dedicated(program("A", 1), 3), program("B", 2)});
    auto const kept = the.after(10, at_first);
    ASSERT_EQ(kept.objects.size(), 2U);
    EXPECT_TRUE(kept.objects[1].programs.empty());
    bool tried = false;
    for (int window = 0; window < 80 && !tried; ++window)
        tried = the.after(1, at_first).eligibilities[1].why == "on trial";
    EXPECT_TRUE(tried);
    auto const later = the.after(
        1, report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)}));
    ASSERT_EQ(later.objects.size(), 2U);
    EXPECT_EQ(later.objects[1].programs, std::vector<std::string>{"B"});
}

// Programs of which each request is cheaper in slices; how much all get done is another matter.
class Served {
public:
    Served(double with_mb_s, double without_mb_s) : Served(with_mb_s, without_mb_s, without_mb_s) {}
    // `at_first`: in the first windows, with turns and without.
    Served(double with_mb_s, double without_mb_s, double at_first_mb_s, int first_windows = 3)
        : with_mb_s_(with_mb_s),
          without_mb_s_(without_mb_s),
          at_first_mb_s_(at_first_mb_s),
          first_windows_(first_windows) {}

    // The next window, at the speed that the last decision makes.
    Decision window() {
        double const mb_s = first_windows_-- > 0           ? at_first_mb_s_
                            : decision_.objects.size() > 1 ? with_mb_s_
                                                           : without_mb_s_;
        now_ms_ += to_ms(decision_.window);
        bytes_ += mb_s * 1e3 * to_ms(decision_.window);
        auto report =
            report_of({with_dedicated(program("A", 1), 3), with_dedicated(program("B", 2), 3)});
        report.now_ms += now_ms_;
        for (auto& one : report.programs)
            for (auto& server : one.servers) server.bytes = bytes_ / 4;
        decision_ = policy_->decide(report);
        return decision_;
    }

    // Of so many windows, those with turns.
    int turns_in(int windows) {
        int turns = 0;
        for (; windows > 0; --windows) turns += window().objects.size() > 1 ? 1 : 0;
        return turns;
    }

private:
    std::unique_ptr<Policy> policy_ = make_default_policy(settings());
    double with_mb_s_;
    double without_mb_s_;
    double at_first_mb_s_;
    int first_windows_;
    Decision decision_;
    double now_ms_ = 0;
    double bytes_ = 1e6;
};

// Two programs that read collectively got 19 MB/s in their first quarter of a second, 80 later.
// Turns brought 50, and were kept.
TEST(DefaultPolicy, does_not_go_by_the_first_moments_of_programs_for_long) {
    Served two(50, 80, 19);
    EXPECT_GT(two.turns_in(8), 3);
    EXPECT_LT(two.turns_in(40), 4);
}

// Two that read five parts of a file each: 17 MB/s in their first half second, with turns and
// without, then 50 and 100. It was seen after the fourth of the long windows, that is for a quarter
// of their time.
TEST(DefaultPolicy, looks_again_at_once_when_programs_got_faster_by_themselves) {
    Served two(50, 100, 17, 5);
    EXPECT_EQ(two.turns_in(6), 3) << "the trial, one slow one, one fast one";
    EXPECT_EQ(two.window().eligibilities[0].why, "how it is without slices is looked at");
    EXPECT_EQ(two.turns_in(30), 0);
}

// Three got 133 MB/s without slices in their first moments, and 106 with; later 92 without: slices
// had been better, and were not tried again for 40 windows.
TEST(DefaultPolicy, tries_again_once_less_gets_done_without_slices_than_with) {
    Served some(106, 92, 133, 3);
    for (int window = 0; window < 12; ++window) some.window();
    EXPECT_GT(some.turns_in(40), 20);
}

// Two windows until it is known how it is without, trial, one window more: 69 is below 85 % of 99.
TEST(DefaultPolicy, gives_up_slices_with_which_less_gets_done) {
    Served two(69, 99);
    EXPECT_EQ(two.turns_in(4), 2);
    auto const given_up = two.window();
    EXPECT_TRUE(given_up.objects.empty());
    EXPECT_EQ(given_up.eligibilities[0].why, "with slices 69.0 MB/s together, without 99.0");
    EXPECT_FALSE(given_up.eligibilities[0].eligible);
    EXPECT_EQ(two.turns_in(30), 0);
    auto const later = two.turns_in(600);
    EXPECT_GT(later, 0) << "things may have changed";
    EXPECT_LT(later, 600 / 20) << "attempts cost, so they get rarer";
}

TEST(DefaultPolicy, gives_up_slices_that_bring_nothing) {
    Served two(100, 99);
    auto const turns = two.turns_in(45);
    EXPECT_GE(turns, 8) << "it takes longer to tell";
    EXPECT_LE(turns, 12);
}

TEST(DefaultPolicy, keeps_slices_with_which_more_gets_done) {
    Served two(160, 99);
    EXPECT_GT(two.turns_in(300), 280) << "but for looks how it is without";
}

// Derivation: 60 MB in 500 ms, then 40 MB in 500 ms: (7/8 * 60 + 40) MB / (7/8 * 500 + 500) ms.
TEST(Payoff, weighs_recent_windows_more_and_counts_only_those_in_which_all_took_part) {
    Payoff payoff;
    auto report = report_of({program("A", 1), program("B", 2)});
    std::vector<ProgramReport const*> const both{report.programs.data(), &report.programs[1]};
    auto const after = [&](double a_mb, double b_mb) {
        report.now_ms += 500;
        report.programs[0].servers[0].bytes += a_mb * 1e6;
        report.programs[1].servers[0].bytes += b_mb * 1e6;
        payoff.observe(report, both);
    };
    after(1, 1);
    payoff.decided(true);
    after(40, 20);
    after(20, 20);
    std::printf("expectation: 98.7 MB/s\nresult:      %.1f MB/s\n", payoff.with().mb_s());
    EXPECT_NEAR(payoff.with().mb_s(), 92.5 / 0.9375, 1e-9);
    report.programs[1].under_way = 0;
    after(22, 0);
    EXPECT_EQ(payoff.with().windows, 2) << "B wanted nothing";
    payoff.observe(report, {both[0]});
    EXPECT_EQ(payoff.with().windows, 0) << "A alone is another matter";
    after(1, 1);
    EXPECT_EQ(payoff.with().windows, 2) << "together again, known again";
    EXPECT_TRUE(payoff.needs_a_look());
    EXPECT_FALSE(payoff.turns_cost()) << "with nothing to compare to";
}

// Two windows of 500 ms without turns, in which the reader had 4 requests in the servers at the end
// of each and got one, and the writer one and 1000: (4 * 7/8 + 4) requests at a time over (7/8 + 1)
// windows are 4, of which one came each 500 ms: 2 s (Little). With turns it gets 10 MB instead
// of 1.
TEST(Payoff, knows_how_long_requests_stay_and_who_gains) {
    Payoff payoff;
    auto report = report_of({program("reader", 1), program("writer", 2)});
    report.programs[0].under_way = 4;
    std::vector<ProgramReport const*> const both{report.programs.data(), &report.programs[1]};
    auto const after = [&](double reader_mb, double writer_mb) {
        report.now_ms += 500;
        report.programs[0].servers[0].bytes += reader_mb * 1e6;
        report.programs[0].servers[0].requests += reader_mb;
        report.programs[1].servers[0].bytes += writer_mb * 1e6;
        report.programs[1].servers[0].requests += writer_mb;
        payoff.observe(report, both);
    };
    after(1, 1);
    for (int window = 0; window < 2; ++window) after(1, 1000);
    EXPECT_NEAR(payoff.without().stay_ms_of(0), 2000, 1e-6);
    EXPECT_NEAR(payoff.without().stay_ms_of(1), 0.5, 1e-6);
    EXPECT_EQ(payoff.gain_of(0), 1) << "not known yet";
    payoff.decided(true);
    after(10, 500);
    EXPECT_NEAR(payoff.gain_of(0), 10, 1e-9);
    EXPECT_NEAR(payoff.gain_of(1), 0.5, 1e-9);
}

// Derivation: 10 requests of 1 MB let in, 6 under way where 1 was: 5 of the 10 have ended.
TEST(Payoff, counts_what_has_come_to_an_end_not_what_fills_the_servers) {
    Payoff payoff;
    auto report = report_of({program("A", 1), program("B", 2)});
    std::vector<ProgramReport const*> const both{report.programs.data(), &report.programs[1]};
    payoff.observe(report, both);
    report.now_ms += 500;
    for (auto& program : report.programs) {
        program.servers[0].requests += 10;
        program.servers[0].bytes += 10e6;
        program.under_way = 6;
    }
    payoff.observe(report, both);
    EXPECT_NEAR(payoff.without().mb_s(), 20, 1e-9) << "not 40";
}

// A request that waits is a part, too, though it brings no bytes in this window.
TEST(Payoff, counts_windows_in_which_somebody_starved) {
    Payoff payoff;
    auto report = report_of({program("A", 1), program("B", 2)});
    std::vector<ProgramReport const*> const both{report.programs.data(), &report.programs[1]};
    for (int window = 0; window < 3; ++window) {
        report.now_ms += 500;
        report.programs[0].servers[0].bytes += 1e6;
        payoff.observe(report, both);
    }
    EXPECT_EQ(payoff.without().windows, 2);
}

// Derivation: 20 MB in 500 ms, then 60, or the other way round: three times as much or a third, so
// what was before is forgotten.
TEST(Payoff, does_not_compare_with_what_programs_did_at_another_speed) {
    for (auto const& [first_mb, then_mb] : {std::pair{20.0, 60.0}, {60.0, 20.0}}) {
        Payoff payoff;
        auto report = report_of({program("A", 1), program("B", 2)});
        std::vector<ProgramReport const*> const both{report.programs.data(), &report.programs[1]};
        auto const after = [&](double mb) {
            report.now_ms += 500;
            for (auto& program : report.programs) program.servers[0].bytes += mb / 2 * 1e6;
            payoff.observe(report, both);
        };
        for (int window = 0; window < 3; ++window) after(first_mb / 2);
        payoff.decided(true);
        after(first_mb);
        after(first_mb);
        EXPECT_FALSE(payoff.needs_a_look());
        after(then_mb);
        EXPECT_EQ(payoff.with().mb_s(), 2 * then_mb);
        EXPECT_TRUE(payoff.needs_a_look());

        payoff.forget_without();
        payoff.decided(false);
        after(then_mb / 0.8);
        after(then_mb / 0.8);
        EXPECT_FALSE(payoff.needs_a_look());
        EXPECT_TRUE(payoff.turns_cost()) << "they have 0.8 of what it is without";
        payoff.decided(true);
        after(first_mb);
        EXPECT_FALSE(payoff.needs_a_look())
            << "once per attempt: programs may come and go in bursts";
    }
}

// ---- the others
// ----------------------------------------------------------------------------------

// The gate refused that, and the orchestrator ended.
TEST(EvenPolicy, with_too_many_programs_for_turns_opens_the_gate) {
    auto const sent = [](int count) {
        std::vector<ProgramReport> programs;
        programs.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) programs.push_back(program(std::to_string(i), i));
        auto const decision = make_even_policy(settings())->decide(report_of(programs));
        return parse_schedule(show(acceptable({1, second, false, decision.objects})));
    };
    ASSERT_TRUE(sent(200));
    EXPECT_EQ(sent(200)->objects.size(), 200U);
    ASSERT_TRUE(sent(257)) << "more than a gate takes";
    EXPECT_TRUE(sent(257)->objects.empty());
    ASSERT_TRUE(sent(1000)) << "turns of half a millisecond";
    EXPECT_TRUE(sent(1000)->objects.empty());
}

TEST(EvenPolicy, gives_all_programs_the_same) {
    auto const decision =
        make_even_policy(settings())
            ->decide(report_of({program("A", 1), program("B", 2),
                                with_dedicated(program("C", 3), 1), program("D", 4)}));
    ASSERT_EQ(decision.objects.size(), 4U);
    for (auto const& object : decision.objects) EXPECT_EQ(object.slice, 125 * ms);
}

TEST(OneAtATimePolicy, who_came_first_has_the_first_window) {
    auto first = program("Z", 1);
    auto second_one = program("A", 2);
    first.phase_began_ms = 5;
    second_one.phase_began_ms = 7;
    auto const decision =
        make_one_at_a_time_policy(settings())->decide(report_of({second_one, first}));
    ASSERT_EQ(decision.objects.size(), 2U);
    EXPECT_EQ(decision.objects[0].programs.front(), "Z");
    EXPECT_EQ(decision.objects[0].slice, 500 * ms);
}

// Periods of 1 s and 10 s: sets 0 and 1, weights 1 and 1/10: 10/11 and 1/11 of 500 ms. A second one
// of set 1 waits for the first, with the least slice.
TEST(SetsPolicy, sets_share_with_weights_that_fall_by_ten) {
    auto often = program("A", 1);
    auto rarely = program("B", 2);
    auto also_rarely = program("C", 3);
    often.characteristic_s = 1.2;
    rarely.characteristic_s = 9;
    also_rarely.characteristic_s = 11;
    rarely.phase_began_ms = 10;
    also_rarely.phase_began_ms = 20;
    auto const decision =
        make_sets_policy(settings())->decide(report_of({often, rarely, also_rarely}));
    ASSERT_EQ(decision.objects.size(), 3U);
    std::printf("expectation: 445.5, 44.5 and 10 ms\nresult:      %.1f, %.1f and %.1f ms\n",
                to_ms(decision.objects[0].slice), to_ms(decision.objects[1].slice),
                to_ms(decision.objects[2].slice));
    EXPECT_NEAR(to_ms(decision.objects[0].slice), 445.45, 0.01);
    EXPECT_NEAR(to_ms(decision.objects[1].slice), 44.55, 0.01);
    EXPECT_EQ(decision.objects[2].slice, 10 * ms);
    EXPECT_EQ(decision.eligibilities[2].why, "waits in set 10^1 s");
}

// ---- how programs fare
// ---------------------------------------------------------------------------

// In 1000 ms A had 100 requests at each of two servers that take 2 ms alone: 5 times as long. B had
// 100 of 4 ms: 2.5 times. Servers: (200 + 400) / 1000 = 60 %. Shares 0.2 and 0.4: Jain 0.36 / 0.4.
TEST(Progress, slowdown_efficiency_and_fairness_by_hand) {
    auto const before = report_of({program("A", 1), program("B", 2)});
    auto after =
        report_of({with_dedicated(program("A", 1), 2), with_dedicated(program("B", 2), 4)});
    after.now_ms += 1000;
    for (auto& one : after.programs)
        for (auto& server : one.servers) {
            server.requests += 100;
            server.bytes += 10e6;
        }
    auto const progress = progress_between(before, after);
    ASSERT_EQ(progress.programs.size(), 2U);
    EXPECT_DOUBLE_EQ(progress.programs[0].slowdown, 5);
    EXPECT_DOUBLE_EQ(progress.programs[1].slowdown, 2.5);
    EXPECT_DOUBLE_EQ(progress.mb_s, 40);
    EXPECT_DOUBLE_EQ(progress.efficiency[0], 0.6);
    EXPECT_NEAR(progress.fairness, 0.9, 1e-12);
    EXPECT_TRUE(progress.fairness_is_of_slowdowns);
}

// All bytes since the beginning were taken for those of one second. 10 MB at each of three servers.
TEST(Progress, a_server_that_appears_does_not_bring_back_what_was_before) {
    auto before = report_of({program("A", 1)});
    for (auto& server : before.programs[0].servers) server.bytes = 1e12;
    auto after = before;
    after.now_ms += 1000;
    after.programs[0].servers.emplace_back();
    after.gap_sectors.push_back(0);
    for (auto& server : after.programs[0].servers) server.bytes += 10e6;
    ASSERT_EQ(after.programs[0].servers.size(), 3U);
    EXPECT_DOUBLE_EQ(progress_between(before, after).mb_s, 30);
}

}  // namespace
}  // namespace unisono::orchestra
