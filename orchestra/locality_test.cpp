#include "orchestra/locality.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "orchestra/program_files.hpp"

namespace unisono::orchestra {
namespace {

constexpr Grant open_gate{Turn::everyone, 0};

std::uint64_t at_sector(std::uint64_t sector) { return sector * 512; }

// Derivation (section III.B), with 128 sectors of 64 KiB per request:
//   sectors of A: 0, 128, of B: 10000, of A: 256
//   gaps of all:  |128 - 0| = 128, |10000 - 128| = 9872, |256 - 10000| = 9744
//   SL   = 128; 128/8 + 9872*7/8 = 16 + 8638 = 8654; 8654/8 + 9744*7/8 = 1081.75 + 8526 = 9607.75
//   gaps of A:    128, |256 - 128| = 128, so SL_A = 128
TEST(Locality, gaps_are_the_papers_means_of_distances_between_requests) {
    Locality server;
    server.on_disk("A", at_sector(0), 0, open_gate);
    server.on_disk("A", at_sector(128), 1, open_gate);
    server.on_disk("B", at_sector(10000), 2, open_gate);
    server.on_disk("A", at_sector(256), 3, open_gate);
    std::printf("expectation: SL = 9607.75, SL_A = 128\nresult:      SL = %g, SL_A = %g\n",
                server.gap_sectors().as_written(), server.find("A")->gap_sectors.as_written());
    EXPECT_DOUBLE_EQ(server.gap_sectors().as_written(), 9607.75);
    EXPECT_DOUBLE_EQ(server.find("A")->gap_sectors.as_written(), 128);
    EXPECT_EQ(server.find("B")->gap_sectors.count(), 0U) << "one request has no distance";
    EXPECT_EQ(server.find("C"), nullptr);
}

// Derivation: A's requests at 10, 12, 20 ms in a turn since 5 ms, then at 100 and 104 ms in one
// since 99 ms. Reuse distances 2 and 8; not 80, which others had; 4.
//   RD = 2; 2/8 + 8*7/8 = 7.25; 7.25/8 + 4*7/8 = 4.40625
TEST(Locality, reuse_distances_are_those_within_a_turn) {
    Locality server;
    Grant const first{Turn::own, 5 * millisecond};
    Grant const second{Turn::own, 99 * millisecond};
    for (Time const ms : {10, 12, 20}) server.on_disk("A", 0, ms * millisecond, first);
    server.on_disk("A", 0, 50 * millisecond, {Turn::other, 40 * millisecond});
    server.on_disk("A", 0, 100 * millisecond, second);
    server.on_disk("A", 0, 104 * millisecond, second);
    std::printf("expectation: RD = 4.40625\nresult:      RD = %g\n",
                server.find("A")->reuse_ms.as_written());
    EXPECT_DOUBLE_EQ(server.find("A")->reuse_ms.as_written(), 4.40625);
}

TEST(Locality, the_pool_is_one_object) {
    Locality server;
    Grant const pool{Turn::pool, 0};
    server.on_disk("A", 0, 1 * millisecond, pool);
    server.on_disk("B", 0, 4 * millisecond, pool);
    EXPECT_DOUBLE_EQ(server.pool_reuse_ms().as_written(), 3);
    EXPECT_EQ(server.find("A")->reuse_ms.count(), 0U);
}

// A write that the kernel sends later, of a file that nobody known has used.
TEST(Locality, what_nobody_is_known_to_have_asked_for_counts_for_all_only) {
    Locality server;
    server.on_disk("A", at_sector(0), 0, open_gate);
    server.on_disk("", at_sector(1000), 1, open_gate);
    server.on_disk("A", at_sector(128), 2, open_gate);
    EXPECT_EQ(server.gap_sectors().count(), 2U);
    EXPECT_EQ(server.find("A")->gap_sectors.as_written(), 128);
    EXPECT_EQ(server.find(""), nullptr);
}

// Requests of A and B take turns at a server and are served one after the other: ends at 10, 20, 30
// and 40 ms, all there from the beginning. A request of B that comes at 60 is done at 61.
//   open_B: 10 (20 - 10), 10, and 21 (61 - 40): the time that the disk was idle is in it
//   slow_B: two of three, of 10 ms; the last one took 1 ms, as memory does
TEST(Locality, times_per_request_contain_the_idle_time_and_slow_ones_do_not) {
    Locality server;
    server.finished("A", {65536, 0}, 10 * millisecond, open_gate);
    server.finished("B", {65536, 0}, 20 * millisecond, open_gate);
    server.finished("A", {65536, 0}, 30 * millisecond, open_gate);
    server.finished("B", {65536, 0}, 40 * millisecond, open_gate);
    server.finished("B", {65536, 60 * millisecond}, 61 * millisecond, open_gate);
    auto const* const b = server.find("B");
    EXPECT_DOUBLE_EQ(b->open_ms.value(), (10 + 10 + 21) / 3.0);
    EXPECT_DOUBLE_EQ(b->slow_share.value(), 2 / 3.0);
    EXPECT_DOUBLE_EQ(b->slow_ms.value(), 10);
    EXPECT_EQ(b->dedicated_ms.count(), 0U);
}

// 1 MiB takes flash 2 ms and 1 MiB / (200 MB/s) = 5.2 ms at most.
TEST(Locality, large_requests_may_take_longer_before_it_is_a_seek) {
    Locality server;
    for (Time const ms : {0, 7, 15})
        server.finished("A", {1 << 20, 0}, ms * millisecond, open_gate);
    EXPECT_DOUBLE_EQ(server.find("A")->slow_share.value(), 0.5);
}

// 1 MiB at 73 MB/s takes 14 ms, which is no seek: two requests in order show it, of which the
// second takes 7 times as long as flash would. One that begins elsewhere takes 12 ms more.
TEST(Locality, a_slow_transfer_in_order_is_no_seek) {
    Locality server;
    Time now = 0;
    auto const request = [&](std::uint64_t address, Time took) {
        Time const begun = now;
        bool const continues = server.admitted("A", address, 1 << 20, begun);
        now += took;
        server.finished("A", {1 << 20, begun, continues}, now, open_gate);
    };
    for (std::uint64_t i = 0; i < 21; ++i) request(i << 20, 14 * millisecond);
    EXPECT_EQ(server.find("A")->slow_share.value(), 0);
    request(100 << 20, 26 * millisecond);
    EXPECT_NEAR(server.find("A")->slow_share.value(), 1 / 21.0, 1e-9);
}

// Two programs that write had trials when they flushed, as if that were a seek of 220 ms.
TEST(Locality, a_flush_is_no_request_that_seeks) {
    Locality server;
    server.finished("A", {65536, 0}, 1 * millisecond, open_gate);
    server.finished("A", {0, 1 * millisecond}, 221 * millisecond, open_gate);
    server.finished("A", {65536, 221 * millisecond}, 222 * millisecond, open_gate);
    EXPECT_EQ(server.find("A")->open_ms.count(), 1U);
    EXPECT_EQ(server.find("A")->open_ms.value(), 1);
    EXPECT_EQ(server.find("A")->slow_share.value(), 0);
}

// Nobody ever knew what they cost. Two programs read 1 GiB in 20 s each, side by side.
TEST(Locality, requests_that_take_long_are_no_pause) {
    Locality server;
    auto const read = [&](std::string_view program, Time began, Time ended) {
        server.finished(program, {1 << 30, began * second}, ended * second, open_gate);
    };
    read("A", 0, 20);
    read("B", 10, 30);
    read("A", 20, 40);
    EXPECT_DOUBLE_EQ(server.find("A")->open_ms.value(), 10e3);
    EXPECT_DOUBLE_EQ(server.find("B")->open_ms.value(), 10e3);
}

// Done at 10 ms; then nothing until requests of both come at 300 ms, when the disk was idle.
TEST(Locality, time_in_which_nobody_wanted_anything_is_no_requests_fault) {
    Locality server;
    server.finished("A", {65536, 0}, 10 * millisecond, open_gate);
    server.admitted("A", 0, 65536, 300 * millisecond);
    server.finished("A", {65536, 300 * millisecond}, 301 * millisecond, open_gate);
    EXPECT_EQ(server.find("A")->open_ms.count(), 0U);
}

TEST(Locality, what_was_let_in_before_a_turn_does_not_count_in_it) {
    Locality server;
    Grant const turn{Turn::own, 15 * millisecond};
    server.finished("B", {1, 0}, 10 * millisecond, open_gate);
    server.finished("A", {1, 0}, 20 * millisecond, turn);
    EXPECT_EQ(server.find("A"), nullptr) << "began before the turn";
    server.finished("A", {1, 0}, 22 * millisecond, turn);
    EXPECT_DOUBLE_EQ(server.find("A")->dedicated_ms.value(), 2);
}

TEST(ProgramFiles, a_file_is_whose_who_used_it_last) {
    ProgramFiles files;
    EXPECT_EQ(files.user_of(1), "");
    files.used("A", 1);
    files.used("B", 1);
    files.used("B", 2);
    EXPECT_EQ(files.user_of(1), "B");
    files.forget("B");
    EXPECT_EQ(files.user_of(1), "");
    EXPECT_EQ(files.user_of(2), "");
}

TEST(ProgramFiles, of_a_program_with_too_many_files_the_later_ones_are_nobodys) {
    ProgramFiles files;
    for (std::uint64_t file = 0; file <= ProgramFiles::files_max; ++file) files.used("A", file);
    EXPECT_EQ(files.user_of(0), "A");
    EXPECT_EQ(files.user_of(ProgramFiles::files_max), "");
}

// 8, then 16: 8/8 + 16 * 7/8 = 15, and 8 * 7/8 + 16/8 = 9.
TEST(PapersMean, has_both_readings_of_its_weights) {
    PapersMean mean;
    mean.add(8);
    EXPECT_EQ(mean.as_written(), 8);
    EXPECT_EQ(mean.as_linux(), 8);
    mean.add(16);
    EXPECT_EQ(mean.as_written(), 15);
    EXPECT_EQ(mean.as_linux(), 9);
    EXPECT_EQ(mean.count(), 2U);
}

TEST(SteadyMean, one_stray_sample_in_many_moves_it_little) {
    SteadyMean steady;
    NewestHeavyMean newest;
    for (int i = 0; i < 100; ++i) {
        steady.add(1);
        newest.add(1);
    }
    steady.add(1000);
    newest.add(1000);
    EXPECT_NEAR(steady.value(), 1 + 999.0 / 64, 1e-9);
    EXPECT_NEAR(newest.value(), 875.125, 1e-9) << "as the paper has it";
}

}  // namespace
}  // namespace unisono::orchestra
