#include <gtest/gtest.h>

#include <random>

#include "orchestra/mutated.hpp"
#include "orchestra/policy.hpp"
#include "orchestra/report.hpp"
#include "orchestra/schedule.hpp"

namespace unisono::orchestra {
namespace {

Schedule sample() {
    return {.epoch = 7,
            .lease = second,
            .work_conserving = true,
            .objects = {{{"slurm:1", "slurm:2"}, 300 * millisecond, 10 * millisecond},
                        {{}, 200 * millisecond, 0}}};
}

TEST(ScheduleText, what_is_shown_is_read) {
    auto const read = parse_schedule(show(sample()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->epoch, 7U);
    EXPECT_EQ(read->lease, second);
    EXPECT_TRUE(read->work_conserving);
    ASSERT_EQ(read->objects.size(), 2U);
    EXPECT_EQ(read->objects[0].programs, (std::vector<std::string>{"slurm:1", "slurm:2"}));
    EXPECT_EQ(read->objects[0].slice, 300 * millisecond);
    EXPECT_EQ(read->objects[0].patience, 10 * millisecond);
    EXPECT_TRUE(read->objects[1].programs.empty());
}

TEST(ScheduleText, what_could_stop_programs_is_refused) {
    auto const is_refused = [](auto change) {
        auto schedule = sample();
        change(schedule);
        return !parse_schedule(show(schedule));
    };
    EXPECT_FALSE(is_refused([](Schedule&) {}));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.lease = 11 * second; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.lease = 0; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[0].slice = 0; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[0].slice = 11 * second; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[0].patience = -1; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[0].programs.clear(); })) << "two pools";
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[1].programs = {"slurm:1"}; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[1].programs = {""}; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects[1].programs = {std::string(64, 'x')}; }));
    EXPECT_TRUE(is_refused([](Schedule& s) { s.objects.resize(257, s.objects[0]); }));
}

TEST(ScheduleText, malformed_text_is_refused) {
    for (char const* text :
         {"", "{", "[]", "null", "7", R"({"epoch":1})", R"({"epoch":-1,"lease_ms":1})",
          R"({"epoch":1,"lease_ms":"x","work_conserving":true,"objects":[]})",
          R"({"epoch":1,"lease_ms":1e300,"work_conserving":true,"objects":[]})",
          R"({"epoch":1,"lease_ms":1,"work_conserving":1,"objects":[]})",
          R"({"epoch":1,"lease_ms":1,"work_conserving":true,"objects":[1]})",
          R"({"epoch":1,"lease_ms":1,"work_conserving":true,"objects":{"a":[]}})"})
        EXPECT_FALSE(parse_schedule(text)) << text;
}

// Whatever comes is read or refused, and what is read keeps its promises.
TEST(ScheduleText, broken_messages_do_no_harm) {
    auto const whole = show(sample());
    std::mt19937 dice(6);
    std::size_t accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        auto const read = parse_schedule(mutated(whole, dice));
        if (!read) continue;
        ++accepted;
        EXPECT_GT(read->lease, 0);
        EXPECT_LE(read->lease, 10 * second);
        for (auto const& object : read->objects) EXPECT_GE(object.slice, millisecond);
    }
    EXPECT_GT(accepted, 100U) << "changed names and numbers are fine";
    EXPECT_LT(accepted, 15'000U);
}

Report sample_report() {
    Report report{.now_ms = 12.5, .epoch = 3, .open = false, .capacity_bytes = 1e9};
    report.gap_sectors = {1, 2};
    report.pool_reuse_ms = {3, 4};
    report.pool_reuse_samples = {1, 0};
    for (int i = 0; i < 20; ++i)
        report.programs.push_back({.id = "p" + std::to_string(i),
                                   .held = 2,
                                   .idle_ms = 1000.0 - i,
                                   .files = {77},
                                   .servers = {{.requests = 5, .dedicated_ms = 1.25}, {}}});
    return report;
}

TEST(ReportText, what_is_shown_is_read) {
    auto const read = parse_report(show(sample_report(), 1 << 20));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->programs.size(), 20U);
    auto const* const program = read->find("p3");
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(program->held, 2);
    EXPECT_EQ(program->files, std::vector<double>{77});
    EXPECT_EQ(program->servers[0].requests, 5);
    EXPECT_EQ(program->servers[0].dedicated_ms, 1.25);
    EXPECT_EQ(read->find("p20"), nullptr);
}

TEST(ReportText, a_report_that_is_too_long_leaves_out_who_was_idle_longest) {
    auto const text = show(sample_report(), 2000);
    EXPECT_LE(text.size(), 2000U);
    auto const read = parse_report(text);
    ASSERT_TRUE(read);
    EXPECT_GT(read->programs.size(), 0U);
    EXPECT_NE(read->find("p19"), nullptr);
    EXPECT_EQ(read->find("p0"), nullptr);
}

TEST(ReportText, malformed_text_is_refused) {
    for (char const* text : {"", "{}", "[1]", R"({"now_ms":"x"})"})
        EXPECT_FALSE(parse_report(text)) << text;
}

TEST(ReportText, broken_messages_do_no_harm) {
    auto const whole = show(sample_report(), 1 << 20);
    std::mt19937 dice(7);
    std::size_t accepted = 0;
    for (int round = 0; round < 3000; ++round) {
        auto const read = parse_report(mutated(whole, dice));
        if (!read) continue;
        ++accepted;
        EXPECT_FALSE(show(*read, 1 << 20).empty());
        for (auto const& policy : policies()) {
            auto const decision = policy.make({})->decide(*read);
            Schedule const schedule{.epoch = 1, .lease = second, .objects = decision.objects};
            EXPECT_FALSE(show(schedule).empty()) << policy.name;
        }
    }
    EXPECT_GT(accepted, 100U);
    EXPECT_LT(accepted, 2500U);
}

// As deep as a message is long: parsing must not use the stack for it.
TEST(Messages, that_are_nested_deeply_are_refused) {
    for (std::string const& open : {std::string("["), std::string("{\"a\":")}) {
        std::string text;
        while (text.size() < (1U << 20)) text += open;
        EXPECT_FALSE(parse_schedule(text));
        EXPECT_FALSE(parse_report(text));
    }
    std::string const closed = std::string(1 << 19, '[') + std::string(1 << 19, ']');
    EXPECT_FALSE(parse_schedule(R"({"objects":)" + closed + "}"));
    EXPECT_FALSE(parse_report(R"({"programs":)" + closed + "}"));
}

}  // namespace
}  // namespace unisono::orchestra
