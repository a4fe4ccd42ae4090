#include "report/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace unisono {
namespace {

FileReport rank_report(std::uint64_t asked_bytes, double waiting_s) {
    FileReport report{.file = "/scratch/chk_0001.h5", .nodes = 1, .aggregators = 4};
    report.backend = "posix";
    report.layout = "12 servers, 1 MiB stripes (hints)";
    auto& write = report.write;
    write.collective_calls = 24;
    write.native_calls["atomic mode"] = 1;
    write.asked_bytes = asked_bytes;
    write.moved_bytes = asked_bytes;
    write.pieces = 12;
    write.holes = 3;
    write.rounds = 48;
    write.meetings = 48;
    write[Phase::waiting].add(waiting_s);
    write[Phase::copying].add(0.25);
    write[Phase::file].add(1.5);
    write[Phase::whole].add(2.0);
    write.strategies["two_phase"].add(20, "interleaved pieces of 64 B");
    write.strategies["independent"].add(4, "one piece per rank");
    report.read.independent_calls = 7;
    report.read.asked_bytes = 1024;
    report.read.moved_bytes = 1024;
    return report;
}

FileReport sample() {
    auto report = rank_report(1u << 30, 0.125);
    report.write.selections = {
        {.calls = "writes of 32 MiB or more, in 8192 pieces or more, 4 ranks on 1 node",
         .tried = {{"two_phase", 20, 0, 1 << 30}, {"independent", 4, 3, 1 << 29}},
         .untried = {"native"},
         .winner = "two_phase",
         .why = "2.00 times as fast as independent",
         .calls_done = 24,
         .seconds = 2,
         .examination_seconds = 0.125,
         .reopened = {{9, "slower for good, now 2.0 times as slow as before"}}}};
    auto other = rank_report(1u << 30, 0.5);
    other.write.strategies["two_phase"].add(0, "asked for by hint");
    other.notes = {"striped over 1 of 12 servers"};
    other.gate = {.passages = 30, .waits = 4, .waited = {0.25, 0.25}, .locality = "layout"};
    report.merge(other);
    return report;
}

TEST(FileReport, merging_adds_bytes_and_takes_the_largest_of_calls) {
    auto const report = sample();
    EXPECT_EQ(report.ranks, 2u);
    EXPECT_EQ(report.aggregators, 4u);
    EXPECT_EQ(report.write.asked_bytes, 2u << 30);
    EXPECT_EQ(report.write.collective_calls, 24u);
    EXPECT_EQ(report.write.native_calls.at("atomic mode"), 1u);
    EXPECT_EQ(report.write.pieces, 24u);
    EXPECT_EQ(report.write.rounds, 48u);
    EXPECT_EQ(report.read.independent_calls, 14u);
    EXPECT_DOUBLE_EQ(report.write[Phase::waiting].total_s, 0.625);
    EXPECT_DOUBLE_EQ(report.write[Phase::waiting].longest_s, 0.5);
    EXPECT_EQ(report.write.strategies.at("two_phase").calls, 20u);
    EXPECT_EQ(report.write.strategies.at("two_phase").why,
              (std::vector<std::string>{"interleaved pieces of 64 B", "asked for by hint"}));
    EXPECT_EQ(report.notes.size(), 1u);
}

TEST(FileReport, merging_in_any_order_gives_the_same_numbers) {
    auto a = rank_report(1, 0.5);
    auto b = rank_report(2, 0.25);
    auto const c = a;
    a.merge(b);
    b.merge(c);
    EXPECT_EQ(a, b);
}

TEST(FileReport, reasons_do_not_pile_up) {
    Use use;
    for (int call = 0; call < 1000; ++call) use.add(1, "reason " + std::to_string(call));
    EXPECT_EQ(use.calls, 1000u);
    EXPECT_EQ(use.why.size(), Use::reasons_at_most);
}

TEST(ReportBytes, survive_the_journey) {
    EXPECT_EQ(report_from_bytes(to_bytes(sample())), sample());
    EXPECT_EQ(report_from_bytes(to_bytes(FileReport{})), FileReport{});
}

TEST(ReportBytes, refuse_what_was_cut_off_or_has_a_tail) {
    auto bytes = to_bytes(sample());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(report_from_bytes(std::span(bytes).first(size))) << size;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(report_from_bytes(bytes));
}

TEST(HumanBytes, use_powers_of_1024) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1536), "1.50 KiB");
    EXPECT_EQ(human_bytes(3.0 * (1u << 30)), "3.00 GiB");
}

// 2 ranks x 1 GiB in 2 s on the slowest rank = 1 GiB/s; 2 x 7 independent reads of 1 KiB in all
// each.
TEST(SummaryLine, is_readable) {
    EXPECT_EQ(summary_line(sample()),
              "unisono: /scratch/chk_0001.h5: 2 ranks, 4 aggregators, posix, "
              "12 servers, 1 MiB stripes (hints); "
              "wrote 2.00 GiB in 24 collective calls, 2 s, 1.00 GiB/s: "
              "independent 4 (one piece per rank), two_phase 20 (interleaved pieces of 64 B), "
              "passed on 1 (atomic mode); "
              "writes of 32 MiB or more, in 8192 pieces or more, 4 ranks on 1 node: "
              "two_phase won (2.00 times as fast as independent), 2 tried, 0.12 s of 2 s lost, "
              "examined again 1 time; "
              "waiting 0.5 s, exchange 0 s, copying 0.25 s, file 1.5 s; moved 1.00 per byte asked; "
              "read 2.00 KiB in 0 collective calls and 14 independent; "
              "waiting 0 s, exchange 0 s, copying 0 s, file 0 s; moved 1.00 per byte asked; "
              "waited 0.25 s for the program's turn, 4 times in all; "
              "note: striped over 1 of 12 servers");
}

TEST(SummaryLine, says_when_nothing_happened) {
    FileReport report;
    report.file = "x";
    EXPECT_EQ(summary_line(report), "unisono: x: 1 rank; no data access");
}

TEST(Json, is_the_sample_that_the_command_line_is_tested_with) {
    std::ifstream file(SAMPLE_REPORT);
    ASSERT_TRUE(file) << SAMPLE_REPORT;
    auto const golden = nlohmann::json::parse(file);
    auto made = nlohmann::json::parse(to_json(sample()));
    EXPECT_EQ(made.at("unisono_version"), UNISONO_VERSION);
    made["unisono_version"] = golden.at("unisono_version");  // not a reason to edit the sample
    EXPECT_EQ(made, golden) << made.dump(2);
}

TEST(Json, is_one_line_whatever_the_file_is_called) {
    FileReport report;
    report.file = "new\nline \"quoted\" \xff";
    auto const text = to_json(report);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(text).at("file"), "new\nline \"quoted\" \xef\xbf\xbd");
}

class AppendLine : public ::testing::Test {
protected:
    std::string const path_ =
        (std::filesystem::temp_directory_path() / ("report_test." + std::to_string(::getpid())))
            .string();
    void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(AppendLine, keeps_lines_of_concurrent_writers_whole) {
    constexpr int writers = 4;
    constexpr int lines = 200;
    std::string const line(3000, 'x');
    {
        std::vector<std::jthread> threads;
        for (int writer = 0; writer < writers; ++writer) {
            threads.emplace_back([&] {
                for (int i = 0; i < lines; ++i) EXPECT_EQ(append_line(path_, line), 0);
            });
        }
    }
    std::ifstream file(path_);
    int count = 0;
    for (std::string got; std::getline(file, got); ++count) EXPECT_EQ(got, line);
    EXPECT_EQ(count, writers * lines);
}

TEST_F(AppendLine, says_what_went_wrong) {
    EXPECT_EQ(append_line("/no/such/directory/report", "x"), ENOENT);
    EXPECT_EQ(append_line("/dev/full", "x"), ENOSPC);
}

}  // namespace
}  // namespace unisono
