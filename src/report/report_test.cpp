#include "report/report.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "report/trace.hpp"
#include "support/descriptor.hpp"
#include "support/file_content.hpp"

namespace unisono {
namespace {

FileReport rank_report(std::uint64_t asked_bytes, double waiting_s) {
    FileReport report{.file = "/scratch/chk_0001.h5", .nodes = 1, .aggregators = 4};
    report.program = {.id = "launch:7@node1",
                      .name = "app",
                      .mpi = "MPICH 4.0.2",
                      .ranks = 2,
                      .cores = {waiting_s < 0.2 ? 1u : 2u},
                      .began = 1764000000 + waiting_s,
                      .seconds = 4 + waiting_s,
                      .core_wait_s = waiting_s};
    report.settings = {"cb_nodes=4 (MPI_Info)"};
    report.backend = "posix";
    report.backend_why = "asked for";
    report.layout = "12 servers, 1 MiB stripes (hints)";
    auto& write = report.write;
    write.collective_calls = 24;
    write.native_calls["atomic mode"] = 1;
    write.asked_bytes = asked_bytes;
    write.moved_bytes = asked_bytes;
    write.most_asked_bytes = asked_bytes;
    write.add_pieces(1 << 24, asked_bytes);
    write.extents = 12;
    write.lists = 12;
    write.rounds = 48;
    write.meetings = 48;
    write.seconds.add(Phase::arrival, waiting_s);
    write.seconds.add(Phase::copying, 0.25);
    write.seconds.add(Phase::file, 1.5);
    write.seconds.add(Phase::other, 0.25 - waiting_s);
    auto const rank = waiting_s < 0.2 ? 0u : 1u;
    write.timeline.keep(rank, 8);
    CallsInTime call{.begin_s = 1764000001, .end_s = 1764000001.5, .count = 2, .bytes = 64};
    call.laps.add(static_cast<std::uint8_t>(Phase::arrival), waiting_s);
    call.laps.add(static_cast<std::uint8_t>(Phase::file), 0.5 - waiting_s);
    write.timeline.add(call);
    write.accesses.keep(rank, 8);
    write.accesses.add({1764000001.25, 1764000001.375, 3, 64, {4096, 8192}});
    write.server_bytes = {32, 32 * rank};
    write.latest = {waiting_s < 0.2 ? 0 : 1, waiting_s};
    report.opened_by = 2;
    report.seconds.add(FilePhase::open, 0.125);
    report.seconds.add(FilePhase::close, 0.5);
    write.strategies["two_phase"].add(20, "interleaved pieces of 64 B");
    write.strategies["independent"].add(4, "one piece per rank");
    report.read.independent_calls = 7;
    report.read.independent_time.add(0.0625);
    report.read.seconds.add(Phase::file, 0.0625);
    report.read.asked_bytes = 1024;
    report.read.moved_bytes = 1024;
    report.read.most_asked_bytes = 1024;
    report.read.failed_independent_calls = 1;
    report.add_error("MPI_File_read on /scratch/chk_0001.h5: the file is open for writing only");
    return report;
}

FileReport sample() {
    auto report = rank_report(1u << 30, 0.0625);
    report.write.selections = {
        {.calls = "writes of 32 MiB or more, in 8,192 pieces or more, 4 ranks on 1 node",
         .tried = {{"two_phase", 20, 0, 1 << 30}, {"independent", 4, 3, 1 << 29}},
         .untried = {"native"},
         .winner = "two_phase",
         .why = "2.00 times as fast as independent",
         .calls_done = 24,
         .seconds = 2,
         .examination_seconds = 0.125,
         .reopened = {{9, "slower for good, now 2.0 times as slow as before"}}}};
    auto other = rank_report(1u << 30, 0.25);
    other.write.strategies["two_phase"].add(0, "asked for by hint");
    other.notes = {"striped over 1 of 12 servers"};
    other.gate = {.accesses = 30, .waits = 4, .waited = {0.25, 0.25}, .locality = "layout"};
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
    EXPECT_EQ(report.write.extents, 24u);
    EXPECT_EQ(report.write.rounds, 48u);
    EXPECT_EQ(report.read.independent_calls, 14u);
    EXPECT_DOUBLE_EQ(report.write.seconds[Phase::arrival].total_s, 0.3125);
    EXPECT_DOUBLE_EQ(report.write.seconds[Phase::arrival].longest_s, 0.25);
    EXPECT_EQ(report.write.latest, (Latest{0, 0.0625})) << "the one that waited least";
    EXPECT_EQ(report.write.strategies.at("two_phase").calls, 20u);
    EXPECT_EQ(report.write.strategies.at("two_phase").why,
              (std::vector<std::string>{"interleaved pieces of 64 B", "asked for by hint"}));
    EXPECT_EQ(report.notes.size(), 1u);
    EXPECT_EQ(report.errors.size(), 1u) << "the same on both ranks";
    EXPECT_EQ(report.settings.size(), 1u);
    EXPECT_EQ(report.write.most_asked_bytes, 1u << 30) << "of one rank";
    EXPECT_EQ(report.write.piece_sizes, (Histogram{{64, 2u << 24}}));
    EXPECT_EQ(report.program.cores, (Cpus{3})) << "each rank has one of its own";
    EXPECT_DOUBLE_EQ(report.program.seconds, 4.25);
    EXPECT_DOUBLE_EQ(report.program.core_wait_s, 0.25);
    EXPECT_EQ(report.program.ranks, 2u);
    EXPECT_DOUBLE_EQ(report.program.began, 1764000000.0625) << "by the rank that was first";
    EXPECT_EQ(report.write.timeline.tracks.size(), 2u);
    EXPECT_EQ(report.write.server_bytes, (Loads{64, 32}));
}

TEST(FileReport, merging_in_any_order_gives_the_same_numbers) {
    auto a = rank_report(1, 0.125);
    auto b = rank_report(2, 0.25);
    auto const c = a;
    a.merge(b);
    b.merge(c);
    EXPECT_EQ(a, b);
}

TEST(FileReport, cores_of_ranks_are_joined_whatever_their_numbers) {
    ProgramReport low{.cores = {1}};
    ProgramReport const high{.cores = {0, 1}};
    low.merge(high);
    EXPECT_EQ(low.cores, (Cpus{1, 1}));
    low.merge(ProgramReport{});
    EXPECT_EQ(low.cores, (Cpus{1, 1}));
}

TEST(DirectionReport, pieces_are_counted_by_the_power_of_two_below_their_size) {
    DirectionReport report;
    report.add_pieces(10, 10 * 1024);
    report.add_pieces(3, 3 * 2047);
    report.add_pieces(1, 2048);
    report.add_pieces(0, 0);
    EXPECT_EQ(report.pieces, 14u);
    EXPECT_EQ(report.piece_sizes, (Histogram{{1024, 13}, {2048, 1}}));
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

// 2 ranks x 1 GiB in 2 s on the slowest rank = 1 GiB/s; 2 x 7 independent reads of 1 KiB in all
// each.
TEST(SummaryLine, is_readable) {
    EXPECT_EQ(
        summary_line(sample()),
        "unisono: /scratch/chk_0001.h5: 2 ranks, 4 aggregators, posix, "
        "12 servers, 1 MiB stripes (hints); "
        "wrote 2.00 GiB in 33,554,432 pieces of 64 B in 24 collective calls, 2 s, 1.00 GiB/s: "
        "independent 4 (one piece per rank), two_phase 20 (interleaved pieces of 64 B), "
        "passed on 1 (atomic mode); "
        "writes of 32 MiB or more, in 8,192 pieces or more, 4 ranks on 1 node: "
        "two_phase won (2.00 times as fast as independent), 2 tried, 0.125 s of 2 s lost, "
        "examined again 1 time; "
        "arrival 0.25 s, copying 0.25 s, file 1.5 s, other 0.188 s, last came rank 0; "
        "moved 1.00 per byte asked; "
        "read 2.00 KiB in 0 collective calls and 14 independent, 62.5 ms, 32.00 KiB/s; "
        "file 62.5 ms; moved 1.00 per byte asked; "
        "open 0.125 s, close 0.5 s; "
        "waited 0.25 s for the program's turn, 4 times in all; "
        "note: striped over 1 of 12 servers");
}

TEST(SummaryLine, says_when_nothing_happened) {
    FileReport report;
    report.file = "x";
    EXPECT_EQ(summary_line(report), "unisono: x: 1 rank; no data access");
}

// With --strategy native, 1.8 TB/s were "reached": the time of the MPI library's calls was left
// out.
TEST(SummaryLine, says_what_the_mpi_library_did) {
    FileReport report{.file = "x"};
    report.read.native_calls["atomic mode"] = 3;
    report.read.asked_bytes = report.read.native_bytes = 1 << 20;
    report.read.seconds.add(Phase::native, 0.5);
    EXPECT_EQ(summary_line(report),
              "unisono: x: 1 rank; read 1.00 MiB in 0 collective calls, 0.5 s, 2.00 MiB/s: "
              "passed on 3 (atomic mode); native 0.5 s");
}

// 19.53 TiB/s were "reached": the time in calls was taken for all of it.
TEST(SummaryLine, takes_what_goes_on_beside_the_program_into_the_speed) {
    FileReport report{.file = "x"};
    report.write.collective_calls = 1;
    report.write.asked_bytes = report.write.moved_bytes = 1u << 30;
    report.write.seconds.add(Phase::other, 50e-6);
    report.write.beside_time.add(2);
    EXPECT_TRUE(summary_line(report).find("50 us, 2 s beside the program, 511.99 MiB/s") !=
                std::string::npos)
        << summary_line(report);
    report.write.seconds.add(Phase::waiting, 1.5);  // at the end of a split call
    EXPECT_TRUE(summary_line(report).find("511.99 MiB/s") != std::string::npos)
        << summary_line(report);
}

// Of these calls only the beginning is seen.
TEST(SummaryLine, says_no_speed_of_nonblocking_calls_of_the_mpi_library) {
    FileReport report{.file = "x"};
    report.write.native_calls["nonblocking collective call"] = 3;
    report.write.asked_bytes = report.write.native_bytes = 1u << 30;
    report.write.seconds.add(Phase::native, 50e-6);
    EXPECT_EQ(summary_line(report),
              "unisono: x: 1 rank; wrote 1.00 GiB in 0 collective calls, 50 us: "
              "passed on 3 (nonblocking collective call); native 50 us");
}

// A write to a full disk ends at once.
TEST(SummaryLine, takes_no_bytes_of_calls_that_failed_into_the_speed) {
    FileReport report{.file = "x"};
    report.write.collective_calls = report.write.failed_calls = 1;
    report.write.asked_bytes = 1u << 30;
    report.write.moved_bytes = 1u << 20;
    report.write.seconds.add(Phase::file, 1);
    EXPECT_TRUE(summary_line(report).find("1 s, 1.00 MiB/s, 1 FAILED") != std::string::npos)
        << summary_line(report);
}

TEST(SummaryLine, says_what_became_of_a_file) {
    FileReport report{.file = "x", .unfinished = "the program ended"};
    EXPECT_EQ(summary_line(report),
              "unisono: x: 1 rank; NOT CLOSED: the program ended; no data access");
    report = {.file = "x", .ranks = 4, .left_alone = "unisono_enable=false"};
    EXPECT_EQ(summary_line(report),
              "unisono: x: 4 ranks; left to the MPI library: unisono_enable=false");
}

// Each moment of a call is in one phase, so the phases' means add up to the whole's.
TEST(Json, times_add_up_to_the_whole) {
    auto const seconds = nlohmann::json::parse(to_json(sample())).at("write").at("seconds");
    double sum = 0;
    for (auto const& [phase, spent] : seconds.items())
        if (phase != "whole") sum += spent.at("mean").get<double>();
    EXPECT_DOUBLE_EQ(sum, seconds.at("whole").at("mean"));
    EXPECT_DOUBLE_EQ(sum, 2.0);
}

// A field that is in the struct, but not in the table of the command, would be shown to nobody.
TEST(Json, has_the_fields_of_the_table_and_no_others) {
    auto const fields = nlohmann::json::parse(fields_json());
    auto report = nlohmann::json::parse(to_json(sample()));
    report.erase("unisono_version");
    report.erase("format");
    auto& write = report.at("write");
    for (auto const& field : fields.at("direction")) {
        auto const key = nlohmann::json::json_pointer("/" + field.at("key").get<std::string>());
        ASSERT_TRUE(write.contains(key)) << key;
        write.at(key.parent_pointer()).erase(key.back());
    }
    EXPECT_EQ(write, nlohmann::json::parse(R"({"calls": {}, "bytes": {}})"));
    for (auto const& field : fields.at("file")) EXPECT_EQ(report.erase(field.at("key")), 1u);
    EXPECT_TRUE(report.empty()) << report;
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
    [[nodiscard]] std::string content() const { return file_content(path_).value_or(""); }
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
    for (std::string got; std::getline(file, got);) {
        if (got.empty()) continue;  // where somebody took what was being written for cut off
        EXPECT_EQ(got, line);
        ++count;
    }
    EXPECT_EQ(count, writers * lines);
}

// After a crash nothing was left of a file that was open.
TEST(Trace, is_there_while_a_file_is_open_and_gone_afterwards) {
    std::string folder = (std::filesystem::temp_directory_path() / "trace_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    auto const files = [&] {
        std::vector<std::filesystem::path> found;
        for (auto const& entry : std::filesystem::directory_iterator(folder))
            found.push_back(entry.path());
        return found;
    };
    {
        Trace trace{folder};
        EXPECT_TRUE(trace.due());
        trace.keep({.file = "one"});
        trace.keep({.file = "two"});
        ASSERT_EQ(files().size(), 1u);
        std::ifstream file{files().front()};
        EXPECT_EQ(nlohmann::json::parse(file).at("file"), "two");
    }
    EXPECT_TRUE(files().empty());
    Trace elsewhere{folder + "/not-there"};
    elsewhere.keep({.file = "three"});
    EXPECT_TRUE(files().empty());
    std::filesystem::remove_all(folder);
}

TEST_F(AppendLine, says_what_went_wrong) {
    EXPECT_EQ(append_line("/no/such/directory/report", "x"), ENOENT);
    EXPECT_EQ(append_line("/dev/full", "x"), ENOSPC);
}

// It went on behind what an earlier one could not write all of, so that both were lost.
TEST_F(AppendLine, begins_a_line_of_its_own) {
    std::ofstream{path_} << "cut o";
    EXPECT_EQ(append_line(path_, "whole"), 0);
    EXPECT_EQ(append_line(path_, "and whole"), 0);
    EXPECT_EQ(content(), "cut o\nwhole\nand whole\n");
}

TEST_F(AppendLine, waits_for_no_second_reader_of_a_fifo) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    std::jthread const reader{[&] { EXPECT_EQ(content(), "x\n"); }};
    EXPECT_EQ(append_line(path_, "x"), 0);
}

// Each program has a file of its own there, whose name others can guess.
TEST_F(AppendLine, in_a_folder_follows_no_link_and_waits_for_no_pipe_of_others) {
    std::string folder = (std::filesystem::temp_directory_path() / "folder.XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    EXPECT_EQ(append_line_in(folder, "app.pbs:7/1.json", "one"), 0);
    EXPECT_EQ(append_line_in(folder, "app.pbs:7/1.json", "two"), 0);
    EXPECT_EQ(file_content(folder + "/app.pbs:7_1.json"), "one\ntwo\n");
    std::ofstream{path_} << "others'";
    std::filesystem::create_symlink(path_, folder + "/link");
    EXPECT_EQ(append_line_in(folder, "link", "x"), ELOOP);
    EXPECT_EQ(content(), "others'");
    ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
    EXPECT_EQ(append_line_in(folder, "pipe", "x"), ENXIO);
    Descriptor const reader{::open((folder + "/pipe").c_str(), O_RDONLY | O_NONBLOCK)};
    EXPECT_EQ(append_line_in(folder, "pipe", "x"), EPERM);
    std::filesystem::remove_all(folder);
}

// It was said to be no space left, whatever it was.
TEST_F(AppendLine, says_why_a_part_only_was_written) {
    struct rlimit before {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    auto const handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{.rlim_cur = 10, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    auto const error = append_line(path_, "more than 10 bytes");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(error, EFBIG);
}

}  // namespace
}  // namespace unisono
