#include "report/history.hpp"

#include <gtest/gtest.h>

#include "report/report.hpp"

namespace unisono {
namespace {

PastRun run(int number, double seconds, double storage_seconds, std::uint64_t bytes = 1000) {
    return {std::to_string(number), bytes, seconds, storage_seconds};
}

// Six runs of 1.0 to 1.2 s; 0.2 s of each is copying.
FileHistory steady() {
    FileHistory history;
    for (int i = 0; i < 6; ++i) history.take_in(run(i, 1.0 + 0.04 * i, 0.8 + 0.04 * i));
    return history;
}

TEST(FileHistory, is_the_last_twelve_runs_each_once) {
    FileHistory history;
    for (int i = 0; i < 30; ++i) history.take_in(run(i, 1, 1));
    history.take_in(run(29, 7, 2));
    ASSERT_EQ(history.runs.size(), FileHistory::runs_most);
    EXPECT_EQ(history.runs.front().id, "18");
    EXPECT_EQ(history.runs.back().seconds, 7);
}

TEST(Slowdown, is_told_with_what_was_usual) {
    auto const slower = slowdown(steady(), run(9, 3.3, 3.1));
    EXPECT_EQ(slower.runs, 6u);
    EXPECT_DOUBLE_EQ(slower.median_s, 1.1);
    EXPECT_DOUBLE_EQ(slower.upper_s, 1.16);
    EXPECT_EQ(describe(slower),
              "3.0 times as slow as in the last 6 runs (3.3 s; usually 1.1 s, up to 1.16 s): the "
              "file system, not the program");
}

TEST(Slowdown, that_is_no_file_io_is_not_blamed_on_the_file_system) {
    auto const slower = slowdown(steady(), run(9, 3.3, 0.9));
    EXPECT_EQ(slower.runs, 6u);
    EXPECT_TRUE(describe(slower).ends_with("): not the file system"));
    auto const half = slowdown(steady(), run(9, 3.3, 2));
    EXPECT_TRUE(describe(half).ends_with("up to 1.16 s)"));
}

TEST(Slowdown, within_the_spread_is_none) {
    EXPECT_EQ(slowdown(steady(), run(9, 1.6, 1.4)), Slowdown{});  // 1.45 times the median
    auto wide = steady();
    wide.take_in(run(6, 3, 2.8));
    EXPECT_EQ(slowdown(wide, run(9, 3.5, 3.3)).upper_s, 1.2);  // one is no spread
    wide.take_in(run(7, 3, 2.8));
    EXPECT_EQ(slowdown(wide, run(9, 3.5, 3.3)), Slowdown{});  // 1.17 times what two took
    EXPECT_EQ(describe({}), "");
}

TEST(Slowdown, takes_five_earlier_runs_to_tell) {
    FileHistory history;
    for (int i = 0; i < 4; ++i) history.take_in(run(i, 1, 1));
    history.take_in(run(9, 1, 1));  // this one's own files before
    EXPECT_EQ(slowdown(history, run(9, 10, 10)), Slowdown{});
    history.take_in(run(5, 1, 1));
    EXPECT_EQ(slowdown(history, run(9, 10, 10)).runs, 5u);
}

TEST(Slowdown, is_of_equally_many_bytes) {
    EXPECT_EQ(slowdown(steady(), run(9, 3.3, 3.1, 3000)), Slowdown{});
    EXPECT_DOUBLE_EQ(slowdown(steady(), run(9, 9.9, 9.3, 3000)).median_s, 3.3);
}

TEST(FileKind, is_the_name_without_folders_and_numbers) {
    EXPECT_EQ(files_of("/scratch/job.1234/chk_0012.h5"), "chk_#.h#");
    EXPECT_EQ(files_of("data"), "data");
    EXPECT_EQ(files_of(std::string(5000, 'x')).size(), 200u);
}

TEST(FileKind, is_the_same_for_sizes_that_vary_a_little) {
    FileReport report;
    report.file = "out.1";
    report.write.asked_bytes = 1'000'000;
    auto const kind = kind_of(report, "nfs", "here");
    report.file = "/other/out.22";
    report.write.asked_bytes = 900'000;
    EXPECT_EQ(kind_of(report, "nfs", "here"), kind);
    report.write.asked_bytes = 100'000;
    EXPECT_NE(kind_of(report, "nfs", "here"), kind);
    EXPECT_NE(kind_of(report, "lustre", "here"), kind);
}

TEST(PastRun, has_neither_opening_nor_waiting_for_ranks) {
    FileReport report;
    report.seconds.add(FilePhase::open, 100);
    report.seconds.add(FilePhase::close, 1);
    report.write.seconds.add(Phase::arrival, 100);
    report.write.seconds.add(Phase::waiting, 100);
    report.write.seconds.add(Phase::file, 2);
    report.read.seconds.add(Phase::native, 1);
    report.read.seconds.add(Phase::copying, 8);
    EXPECT_EQ(run_of(report).storage_seconds, 3);
    EXPECT_EQ(run_of(report).seconds, 12);
}

// A rank that had computed for longer before it closed made the file system slow, it was said.
TEST(PastRun, has_no_waiting_for_who_comes_late_to_a_sync_or_close) {
    FileReport report;
    report.seconds.add(FilePhase::sync, 7);
    report.seconds.add(FilePhase::close, 0.5);
    FileReport late;
    late.seconds.add(FilePhase::sync, 2);
    late.seconds.add(FilePhase::close, 9);
    report.merge(late);
    EXPECT_EQ(run_of(report).storage_seconds, 2.5);
    EXPECT_EQ(run_of(report).seconds, 2.5);
}

// One that waited there for a rank that came late, or exchanged data, was told that its file system
// was slow.
TEST(PastRun, is_nothing_where_the_mpi_library_did_the_calls) {
    FileReport report;
    report.write.asked_bytes = 1 << 30;
    report.write.seconds.add(Phase::native, 4);
    report.write.seconds.add(Phase::file, 2);
    EXPECT_EQ(run_of(report).bytes, 0u);
}

TEST(PastRun, that_waited_for_its_turn_did_not_wait_for_the_file_system) {
    FileReport report;
    report.write.seconds.add(Phase::file, 5);
    report.gate.waited.add(4);
    EXPECT_EQ(run_of(report).seconds, 5);
    EXPECT_EQ(run_of(report).storage_seconds, 1);
}

// Close waits for what is on its way: a program that computed less before it was told that its file
// system was slow.
TEST(PastRun, is_nothing_where_calls_were_nonblocking) {
    FileReport report;
    report.write.asked_bytes = 1 << 30;
    report.seconds.add(FilePhase::close, 2);
    EXPECT_EQ(run_of(report).bytes, 1u << 30);
    auto by_mpi = report;
    by_mpi.write.native_calls["nonblocking collective call"] = 1;
    EXPECT_EQ(run_of(by_mpi).bytes, 0u);
    report.write.beside_time.add(2);
    EXPECT_EQ(run_of(report).bytes, 0u);
}

}  // namespace
}  // namespace unisono
