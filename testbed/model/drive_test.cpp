// The drive against published figures. Each test prints derivation, expectation and result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/geometry.hpp"
#include "model/random.hpp"
#include "model/seek_curve.hpp"
#include "model/test_support.hpp"

namespace unisono::testbed {
namespace {

constexpr std::uint64_t sectors_4k = 8;
constexpr std::uint64_t sectors_64k = 128;

double mean_of_random_seeks_ms(SeekCurve const& curve) {
    Random random(1);
    double sum_ms = 0;
    int const pairs = 200'000;
    for (int i = 0; i < pairs; ++i) {
        auto const place = [&] { return static_cast<double>(random.below(1 << 30)) / (1 << 30); };
        sum_ms += curve.at_ms(std::abs(place() - place()));
    }
    return sum_ms / pairs;
}

double iops(Drive& drive, std::vector<Command> const& commands, std::size_t depth) {
    auto const done = run_closed(drive, commands, depth);
    return static_cast<double>(commands.size()) * 1e9 /
           static_cast<double>(*std::max_element(done.begin(), done.end()));
}

std::vector<Command> sequential(Operation operation, std::uint64_t first, std::size_t count) {
    std::vector<Command> commands;
    for (std::size_t i = 0; i < count; ++i)
        commands.push_back({0, operation, first + i * sectors_64k, sectors_64k});
    return commands;
}

double sequential_mb_s(Profile const& profile, Operation operation, double where) {
    auto const drive = make_drive(profile.drive);
    std::size_t const count = 2000;
    auto const room = static_cast<std::uint64_t>(profile.drive.capacity_bytes) / sector_bytes -
                      count * sectors_64k;
    auto const first = static_cast<std::uint64_t>(static_cast<double>(room) * where);
    auto const done = run_closed(*drive, sequential(operation, first, count), 1);
    // The first tenth is left out: it has the seek.
    auto const time_s = static_cast<double>(done[count - 1] - done[count / 10]) / 1e9;
    return static_cast<double>((count - 1 - count / 10) * 65536) / 1e6 / time_s;
}

TEST(SeekCurve, three_published_points_are_met) {
    auto const curve = fit_seek_curve(2.0, 8.9, 21.0);
    print_check("WD5000AAKS: track 2.0, average 8.9, full stroke 21 ms (Lee & Katz)",
                "track 2.0, mean 8.9, full 21.0 ms",
                "track " + with_unit(curve.at_ms(1e-9), "") + ", mean " +
                    with_unit(mean_of_random_seeks_ms(curve), "") + ", full " +
                    with_unit(curve.at_ms(1), "ms"));
    EXPECT_NEAR(curve.at_ms(1e-9), 2.0, 0.01);
    EXPECT_NEAR(mean_of_random_seeks_ms(curve), 8.9, 0.05);
    EXPECT_NEAR(curve.at_ms(1), 21.0, 0.01);
}

TEST(SeekCurve, without_a_full_stroke_the_square_root_law_meets_two_points) {
    auto const curve = fit_seek_curve(0.8, 8.5, 0);
    print_check("Barracuda 7200.10: 0.8 + 15/8 * (8.5 - 0.8) = 15.24 ms full stroke",
                "mean 8.5, full 15.24 ms",
                "mean " + with_unit(mean_of_random_seeks_ms(curve), "") + ", full " +
                    with_unit(curve.at_ms(1), "ms"));
    EXPECT_NEAR(mean_of_random_seeks_ms(curve), 8.5, 0.05);
    EXPECT_NEAR(curve.at_ms(1), 15.24, 0.01);
    EXPECT_EQ(curve.at_ms(0), 0);
}

TEST(Geometry, every_place_is_found_again_and_none_lies_behind_its_successor) {
    Geometry const geometry(shipped_profile("barracuda-7200.10").drive);
    Random random(7);
    for (int i = 0; i < 20'000; ++i) {
        auto const sector = random.below(geometry.sectors() - 1);
        auto const here = geometry.locate(sector);
        EXPECT_EQ(geometry.sector_at(here.stream_ns), sector);
        EXPECT_LT(here.stream_ns, geometry.locate(sector + 1).stream_ns);
        EXPECT_LT(here.cylinder, geometry.cylinders());
    }
}

TEST(RotatingDrive, one_random_read_at_a_time_takes_seek_and_half_a_revolution) {
    for (auto const& [name, overhead_ms, seek_ms, measured_ms] :
         {std::tuple{"hgst-7k8", 0.2, 8.0, 12.2}, {"st2000dm006", 0.3, 13.0, 17.5}}) {
        auto const profile = shipped_profile(name);
        auto const drive = make_drive(profile.drive);
        auto const result_ms =
            1e3 /
            iops(*drive, random_commands(profile.drive, Operation::read, sectors_4k, 4000, 1), 1);
        double const derived_ms = overhead_ms + seek_ms + 60e3 / 7200 / 2;
        print_check(std::string(name) +
                        ": overhead + average seek + 8.33/2 = " + with_unit(derived_ms, "ms"),
                    with_unit(measured_ms, "ms measured (ublk-disksim), within 5 %"),
                    with_unit(result_ms, "ms"));
        EXPECT_NEAR(result_ms, derived_ms, 0.03 * derived_ms);
        EXPECT_NEAR(result_ms, measured_ms, 0.05 * measured_ms);
    }
}

TEST(RotatingDrive, queued_random_reads_are_sorted_by_positioning_time) {
    for (auto const& [name, measured] : {std::pair{"hgst-7k8", 195.0}, {"st2000dm006", 94.0}}) {
        auto const profile = shipped_profile(name);
        auto const drive = make_drive(profile.drive);
        auto const result =
            iops(*drive, random_commands(profile.drive, Operation::read, sectors_4k, 8000, 2), 32);
        print_check(std::string(name) +
                        ": 32 random 4 KiB reads at once, of which the drive sorts " +
                        with_unit(profile.drive.queue_depth, ""),
                    with_unit(measured, "reads/s measured (ublk-disksim), within 20 %"),
                    with_unit(result, "reads/s"));
        EXPECT_NEAR(result, measured, 0.2 * measured);
    }
}

TEST(RotatingDrive, sequential_reads_reach_the_sustained_rate_of_their_zone) {
    for (auto const* name : {"barracuda-7200.10", "wd5000aaks", "sata-80gb", "nearline"}) {
        auto const profile = shipped_profile(name);
        double const outer = sequential_mb_s(profile, Operation::read, 0);
        double const inner = sequential_mb_s(profile, Operation::read, 1);
        print_check(std::string(name) + ": 64 KiB reads one after another, first and last zone",
                    with_unit(profile.drive.outer_mb_s, "") + "and " +
                        with_unit(profile.drive.inner_mb_s, "MB/s, within 3 %"),
                    with_unit(outer, "") + "and " + with_unit(inner, "MB/s"));
        EXPECT_NEAR(outer, profile.drive.outer_mb_s, 0.03 * profile.drive.outer_mb_s);
        EXPECT_NEAR(inner, profile.drive.inner_mb_s, 0.03 * profile.drive.inner_mb_s);
    }
}

TEST(RotatingDrive, sequential_writes_reach_the_sustained_rate) {
    auto const profile = shipped_profile("barracuda-7200.10");
    double const result = sequential_mb_s(profile, Operation::write, 0);
    print_check("64 KiB writes through a full write cache, written out in long runs",
                "73.5 MB/s, within 5 %", with_unit(result, "MB/s"));
    EXPECT_NEAR(result, 73.5, 0.05 * 73.5);
}

TEST(RotatingDrive, without_a_write_cache_each_sequential_write_loses_a_revolution) {
    auto profile = shipped_profile("barracuda-7200.10");
    profile.drive.write_cache_bytes = 0;
    double const result = sequential_mb_s(profile, Operation::write, 0);
    // The command arrives when its sector has passed, so a write takes whole revolutions, and the
    // share of its bytes of the next one is part of the wait.
    double const derived = 65536 / 8.333e-3 / 1e6;
    print_check("65,536 B per revolution of 8.33 ms, and a switch now and then",
                with_unit(derived, "MB/s, within 15 %"), with_unit(result, "MB/s"));
    EXPECT_NEAR(result, derived, 0.15 * derived);
}

TEST(RotatingDrive, a_flush_takes_the_time_of_the_writes_that_it_waits_for) {
    auto const profile = shipped_profile("st2000dm006");
    for (std::size_t const writes : {1U, 16U, 64U}) {
        double sum_ms = 0;
        int const tries = 20;
        for (int seed = 0; seed < tries; ++seed) {
            auto const drive = make_drive(profile.drive);
            auto commands = random_commands(profile.drive, Operation::write, sectors_4k, writes,
                                            static_cast<std::uint64_t>(seed));
            auto const written = run_closed(*drive, commands, 1);
            auto const flushed =
                run_closed(*drive, {{0, Operation::flush, 0, 0}}, 1, written.back());
            sum_ms += static_cast<double>(flushed[0] - written.back()) / 1e6 / tries;
        }
        double const measured_ms = 28 + 9.4 * static_cast<double>(writes);
        print_check("st2000dm006, " + std::to_string(writes) +
                        " random 4 KiB writes, then a flush: 28 + 9.4 N ms measured (ublk-disksim)",
                    with_unit(measured_ms, "ms; not less than a quarter, not more than that"),
                    with_unit(sum_ms, "ms"));
        // The model has no reserved area, which the drive seems to update with each flush (28 ms).
        EXPECT_LT(sum_ms, measured_ms);
        EXPECT_GT(sum_ms, measured_ms / 4);
    }
}

TEST(RotatingDrive, a_flush_of_one_write_takes_12_to_16_ms) {
    auto const profile = shipped_profile("hgst-7k8");
    double sum_ms = 0;
    int const tries = 200;
    for (int seed = 0; seed < tries; ++seed) {
        auto const drive = make_drive(profile.drive);
        auto const commands = random_commands(profile.drive, Operation::write, sectors_4k, 2,
                                              static_cast<std::uint64_t>(seed));
        run_closed(*drive, {{commands[0]}, {0, Operation::flush, 0, 0}}, 1);
        auto const written = run_closed(*drive, {commands[1]}, 1, second);
        auto const flushed = run_closed(*drive, {{0, Operation::flush, 0, 0}}, 1, written[0]);
        sum_ms += static_cast<double>(flushed[0] - written[0]) / 1e6 / tries;
    }
    print_check("hgst-7k8: seek 8.0 + settle 0.8 + 8.33/2 + overhead 0.2 = 13.2 ms",
                "12 to 16 ms measured (ublk-disksim)", with_unit(sum_ms, "ms"));
    EXPECT_GE(sum_ms, 12);
    EXPECT_LE(sum_ms, 16);
}

TEST(RotatingDrive, a_cached_write_is_done_before_it_is_on_the_medium) {
    auto const profile = shipped_profile("barracuda-7200.10");
    auto const drive = make_drive(profile.drive);
    auto const done = run_closed(*drive, {{0, Operation::write, 1'000'000, sectors_64k}}, 1);
    print_check("overhead 0.2 ms + 65,536 B / 150 MB/s = 0.637 ms", "0.637 ms",
                with_unit(static_cast<double>(done[0]) / 1e6, "ms"));
    EXPECT_NEAR(static_cast<double>(done[0]) / 1e6, 0.637, 0.001);
    EXPECT_EQ(drive->counters().media_accesses, 0U);
}

// What Resonant I/O (IPDPS 2009) is about: the order of arrival decides.
std::size_t done_of(Drive& drive, std::vector<Command> const& commands) {
    for (auto const& command : commands) drive.submit(0, command);
    std::vector<Finished> finished;
    drive.advance(1000 * second, finished);
    return finished.size();
}

// Both hung: when a flush leaves, nothing else is going on that would have them looked at again.
TEST(RotatingDrive, writes_that_a_flush_has_kept_waiting_are_done_after_it) {
    auto const profile = shipped_profile("barracuda-7200.10").drive;
    auto const write = [](std::uint64_t number) {
        return Command{number, Operation::write, number * 1'000'000, 1024};
    };
    Command const flush{99, Operation::flush, 0, 0};
    auto const behind = make_drive(profile);
    EXPECT_EQ(done_of(*behind, {write(1), flush, write(2)}), 3) << "a write that came after it";
    auto const before = make_drive(profile);
    std::vector<Command> commands;
    for (std::uint64_t number = 0; number < 20; ++number) commands.push_back(write(number));
    commands.push_back(flush);
    EXPECT_EQ(done_of(*before, commands), 21) << "writes for which the cache had no room before it";
}

TEST(RotatingDrive, streams_in_order_run_at_media_rate_and_reversed_pairs_lose_revolutions) {
    auto const profile = shipped_profile("sata-80gb");
    auto const in_order = sequential(Operation::read, 0, 400);
    auto reversed = in_order;
    // 4 processes read a row of 64 KiB segments each call, and come to the server last one first.
    for (std::size_t row = 0; row < reversed.size(); row += 4)
        std::reverse(reversed.begin() + static_cast<std::ptrdiff_t>(row),
                     reversed.begin() + static_cast<std::ptrdiff_t>(row) + 4);
    auto const rate = [&](std::vector<Command> const& commands) {
        auto const drive = make_drive(profile.drive);
        return iops(*drive, commands, 1) * 65536 / 1e6;
    };
    double const ordered_mb_s = rate(in_order);
    double const reversed_mb_s = rate(reversed);
    print_check("55 MB/s in order; reversed rows of 4 lose most of a revolution per row or more",
                "in order near 55 MB/s, reversed below half of it",
                with_unit(ordered_mb_s, "") + "and " + with_unit(reversed_mb_s, "MB/s"));
    EXPECT_NEAR(ordered_mb_s, 55, 3);
    EXPECT_LT(reversed_mb_s, ordered_mb_s / 2);
}

TEST(RotatingDrive, segments_keep_what_was_read_ahead_for_each_of_two_streams) {
    auto const profile = shipped_profile("sata-80gb");
    auto const media_accesses = [&](double segment_bytes) {
        auto drive_profile = profile.drive;
        drive_profile.segment_bytes = segment_bytes;
        auto const drive = make_drive(drive_profile);
        Time now = 0;
        for (std::uint64_t i = 0; i < 200; ++i)
            for (std::uint64_t stream = 0; stream < 2; ++stream) {
                Command const command{0, Operation::read, stream * 20'000'000 + i * sectors_64k,
                                      sectors_64k};
                now = run_closed(*drive, {command}, 1, now)[0] + 5 * millisecond;
            }
        return drive->counters().media_accesses;
    };
    auto const with = media_accesses(profile.drive.segment_bytes);
    auto const without = media_accesses(0);
    // In 5 ms at 55 MB/s the head reads 275 KB ahead, so at most one in 5 requests needs the
    // medium.
    print_check("two streams in turn with 5 ms between: 275 KB read ahead, 4 requests of 64 KiB",
                "400 media accesses without segments, at most 400 / 4 with",
                std::to_string(without) + " without, " + std::to_string(with) + " with");
    EXPECT_EQ(without, 400U);
    EXPECT_LE(with, 100U);
}

TEST(RotatingDrive, an_old_command_goes_before_a_near_one) {
    auto profile = shipped_profile("barracuda-7200.10");
    profile.drive.command_age_ms = 50;
    auto const drive = make_drive(profile.drive);
    std::vector<Command> commands{{0, Operation::read, 300'000'000, sectors_4k}};
    for (std::uint64_t i = 0; i < 200; ++i)
        commands.push_back({0, Operation::read, i * 20'000 % 999'983, sectors_4k});
    auto const done = run_closed(*drive, commands, 8);
    EXPECT_LT(done[0], 100 * millisecond) << "50 ms of age, and the accesses around them";
}

TEST(SolidStateDrive, has_no_positions) {
    auto const profile = shipped_profile("ssd");
    auto const one = make_drive(profile.drive);
    double const single =
        iops(*one, random_commands(profile.drive, Operation::read, sectors_4k, 1000, 1), 1);
    auto const many = make_drive(profile.drive);
    double const queued =
        iops(*many, random_commands(profile.drive, Operation::read, sectors_4k, 10'000, 1), 32);
    print_check(
        "1 / (50 us + 4096 B / 500 MB/s) = 17,180; 4 channels / 50 us = 80,000 (75,000 rated)",
        "17,180 and 80,000 reads/s", with_unit(single, "") + "and " + with_unit(queued, "reads/s"));
    EXPECT_NEAR(single, 17'180, 200);
    EXPECT_NEAR(queued, 80'000, 1'000);
}

// A flush takes 100 us and no time of the interface; a read of 4 KiB that is sent with it 50 us,
// and 8.2 us at 500 MB/s.
TEST(SolidStateDrive, a_read_does_not_wait_for_a_flush_that_ends_later) {
    auto const drive = make_drive(shipped_profile("ssd").drive);
    drive->submit(0, {1, Operation::flush, 0, 0});
    drive->submit(0, {2, Operation::read, 0, 8});
    std::vector<Finished> finished;
    drive->advance(second, finished);
    ASSERT_EQ(finished.size(), 2U);
    EXPECT_EQ(finished[0].id, 2U);
    EXPECT_EQ(finished[0].time, 58'192);
    EXPECT_EQ(finished[1].time, 100 * microsecond);
}

TEST(SolidStateDrive, an_instant_drive_takes_no_time) {
    auto const profile = shipped_profile("instant");
    auto const drive = make_drive(profile.drive);
    auto const done =
        run_closed(*drive, random_commands(profile.drive, Operation::write, 2048, 100, 1), 1);
    EXPECT_EQ(done.back(), 0);
}

TEST(RotatingDrive, the_same_commands_take_the_same_time) {
    auto const profile = shipped_profile("nearline");
    auto const commands = random_commands(profile.drive, Operation::read, sectors_64k, 500, 3);
    auto const first = make_drive(profile.drive);
    auto const again = make_drive(profile.drive);
    EXPECT_EQ(run_closed(*first, commands, 16), run_closed(*again, commands, 16));
}

}  // namespace
}  // namespace unisono::testbed
