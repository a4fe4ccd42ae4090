// A whole server on the virtual clock. Each test prints derivation, expectation and result.
#include "model/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "model/link.hpp"
#include "model/random.hpp"
#include "model/test_support.hpp"

namespace unisono::testbed {
namespace {

constexpr std::uint64_t stripe = 65536;

// Runs a server alone in the world; `next` gives a client's next request, or bytes == 0 at its end.
class Alone {
public:
    Alone(Profile const& profile, ServerOptions const& options) : server(profile, options) {}

    Time run_one(ServerRequest request) {
        request.id = 1;
        server.submit(now, request);
        run([](std::uint64_t) { return ServerRequest{}; }, 1);
        return now;
    }

    // `clients` are closed loops: each sends its next request when the last one is done.
    void run_clients(std::uint64_t clients, std::function<ServerRequest(std::uint64_t)> const& next,
                     Time think = 0) {
        std::size_t live = 0;
        for (std::uint64_t client = 1; client <= clients; ++client) {
            auto request = next(client);
            if (request.bytes == 0) continue;
            request.id = client;
            server.submit(now, request);
            ++live;
        }
        run(next, live, think);
    }

    Server server;
    Time now = 0;

private:
    void run(std::function<ServerRequest(std::uint64_t)> const& next, std::size_t live,
             Time think = 0) {
        std::vector<Finished> finished;
        while (live > 0) {
            auto const event = server.next_event();
            ASSERT_NE(event, never) << "the server stands still";
            now = event;
            server.advance(now, finished);
            for (auto const& one : std::exchange(finished, {})) {
                auto request = next(one.id);
                request.id = one.id;
                if (request.bytes == 0)
                    --live;
                else
                    server.submit(now + think, request);
            }
        }
    }
};

ServerRequest read_at(std::uint64_t file, std::uint64_t address, std::uint64_t file_begin = 0) {
    return {.operation = Operation::read,
            .address = address,
            .bytes = stripe,
            .readable_after = 1 << 30,
            .at_start = address == file_begin,
            .file = file,
            .process = file,
            .client = file};
}

// The second read is for what was read ahead, or is in memory from the first one.
TEST(Server, who_watches_the_disk_sees_what_the_cache_does_not_have) {
    Alone alone(shipped_profile("barracuda-7200.10"), {.scheduler = "cfq"});
    std::vector<DiskRequest> seen;
    alone.server.watch_disk([&](DiskRequest const& request) { seen.push_back(request); });
    alone.run_one(read_at(7, 0));
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front().file, 7U);
    EXPECT_EQ(seen.front().address, 0U);
    EXPECT_LE(seen.front().sent, alone.now);
    auto const first = seen.size();
    alone.run_one(read_at(7, 0));
    EXPECT_EQ(seen.size(), first);
}

TEST(Server, who_watches_the_disk_sees_writes_when_they_are_sent_and_whose_they_are) {
    Alone alone(shipped_profile("barracuda-7200.10"), {.scheduler = "cfq"});
    std::vector<DiskRequest> seen;
    alone.server.watch_disk([&](DiskRequest const& request) { seen.push_back(request); });
    auto request = read_at(7, 1 << 20);
    request.operation = Operation::write;
    alone.run_one(request);
    EXPECT_TRUE(seen.empty()) << "it is in memory";
    alone.run_one({.operation = Operation::flush, .file = 7});
    ASSERT_EQ(seen.size(), 1U) << "and the flush of the drive itself is no request";
    EXPECT_EQ(seen.front().file, 7U);
    EXPECT_EQ(seen.front().address, 1U << 20);
}

TEST(Server, a_read_from_the_page_cache_takes_the_servers_own_time) {
    auto const profile = shipped_profile("barracuda-7200.10");
    Alone alone(profile, {});
    alone.run_one(read_at(1, 1 << 20));
    Time const before = alone.now;
    alone.run_one(read_at(1, 1 << 20));
    print_check("request_us", "30 us",
                with_unit(static_cast<double>(alone.now - before) / 1e3, "us"));
    EXPECT_EQ(alone.now - before, from_us(30));
    EXPECT_EQ(alone.server.counters().cache_hits, 1U);
}

TEST(Server, a_write_returns_at_once_and_a_flush_waits_for_the_medium) {
    auto const profile = shipped_profile("barracuda-7200.10");
    Alone alone(profile, {});
    auto request = read_at(1, 80'000'000'000 / 4096 * 4096);
    request.operation = Operation::write;
    alone.run_one(request);
    EXPECT_EQ(alone.now, from_us(30));
    EXPECT_EQ(alone.server.drive_counters().commands, 0U);
    Time const before = alone.now;
    alone.run_one({.operation = Operation::flush, .file = 1, .process = 1});
    auto const ms = static_cast<double>(alone.now - before) / 1e6;
    // Half the drive's bytes are nearer than 45 % of its cylinders.
    print_check(
        "seek over about 0.45 of 15.24 ms stroke: 10.5 + settle 1.0 + at most 8.33 + transfer 1",
        "11 to 22 ms", with_unit(ms, "ms"));
    EXPECT_GE(ms, 11);
    EXPECT_LE(ms, 22);
}

TEST(Server, writers_wait_when_too_much_is_unwritten) {
    auto profile = shipped_profile("barracuda-7200.10");
    profile.host.dirty_background_bytes = 4 << 20;
    profile.host.dirty_limit_bytes = 8 << 20;
    Alone alone(profile, {});
    std::uint64_t written = 0;
    std::uint64_t const total = 200 << 20;
    alone.run_clients(4, [&](std::uint64_t) {
        if (written >= total) return ServerRequest{};
        auto request = read_at(1, written);
        request.operation = Operation::write;
        written += stripe;
        return request;
    });
    double const mb_s = static_cast<double>(total) / 1e6 / (static_cast<double>(alone.now) / 1e9);
    print_check(
        "200 MiB in order through 8 MiB of dirty pages: the disk's 73.5 MB/s, and 10 MiB free",
        "73.5 * 200 / 190 = 77.4 MB/s, within 7 %", with_unit(mb_s, "MB/s"));
    EXPECT_NEAR(mb_s, 77.4, 0.07 * 77.4);
}

// What is in memory takes 30 us; four of one file one after the other, of four files at once.
TEST(Server, one_request_per_file_makes_requests_of_one_file_wait_and_no_others) {
    auto profile = shipped_profile("barracuda-7200.10");
    profile.host.requests_per_file = 1;
    for (bool const same_file : {true, false}) {
        Alone alone(profile, {});
        alone.run_one(read_at(1, 0));
        Time const begun = alone.now;
        std::uint64_t asked = 0;
        alone.run_clients(4, [&](std::uint64_t) {
            return asked++ < 4 ? read_at(same_file ? 1 : asked, 0) : ServerRequest{};
        });
        print_check("4 requests of 30 us", same_file ? "120 us" : "30 us",
                    with_unit(static_cast<double>(alone.now - begun) / 1e3, "us"));
        EXPECT_EQ(alone.now - begun, from_us(same_file ? 120 : 30));
    }
}

// 16 MiB of each of two files, half a disk apart, that have become too old; a drive that neither
// sorts nor caches. Ascending over all files the head goes there once; with 4 MiB of a file in turn
// A B A B A B A B, seven times as far.
TEST(Server, writing_back_file_by_file_moves_the_head_between_them) {
    auto profile = shipped_profile("barracuda-7200.10");
    profile.host.writeback_file_bytes = 4 << 20;
    profile.drive.queue_depth = 1;
    profile.drive.write_cache_bytes = 0;
    profile.host.dirty_expire_ms = 1000;
    std::uint64_t const apart = 80'000'000'000 / 4096 * 4096;
    auto const cylinders = [&] {
        Alone alone(profile, {});
        std::uint64_t written = 0;
        alone.run_clients(1, [&](std::uint64_t) {
            if (written >= 512) return ServerRequest{};
            auto request = read_at(1 + written % 2, written % 2 * apart + written / 2 * stripe);
            request.operation = Operation::write;
            ++written;
            return request;
        });
        std::vector<Finished> finished;
        alone.server.advance(10 * second, finished);
        EXPECT_EQ(alone.server.drive_counters().commands, 64U) << "512 KiB each";
        return static_cast<double>(alone.server.drive_counters().seek_cylinders);
    };
    auto const file_by_file = cylinders();
    profile.host.writeback_file_bytes = 0;
    auto const ascending = cylinders();
    print_check("way of the head, file by file / ascending", "7",
                with_unit(file_by_file / ascending, ""));
    EXPECT_NEAR(file_by_file / ascending, 7, 0.1);
}

TEST(Server, sequential_reads_of_one_process_run_at_the_disks_rate_thanks_to_read_ahead) {
    auto const profile = shipped_profile("barracuda-7200.10");
    std::uint64_t const total = 100 << 20;
    auto const rate = [&](Profile const& with) {
        Alone alone(with, {});
        std::uint64_t at = 0;
        alone.run_clients(
            1,
            [&](std::uint64_t) {
                if (at >= total) return ServerRequest{};
                at += stripe;
                return read_at(1, at - stripe);
            },
            700 * microsecond);
        return static_cast<double>(total) / 1e6 / (static_cast<double>(alone.now) / 1e9);
    };
    double const ahead_mb_s = rate(profile);
    print_check("0.7 ms between requests hide behind the 0.89 ms that 64 KiB take on the disk",
                "73.5 MB/s, within 3 %", with_unit(ahead_mb_s, "MB/s"));
    EXPECT_NEAR(ahead_mb_s, 73.5, 0.03 * 73.5);
}

// Two programs read one after the other through their own files, `distance` apart.
double two_programs_mb_s(ServerOptions const& options, std::uint64_t distance) {
    Alone alone(shipped_profile("barracuda-7200.10"), options);
    std::uint64_t const each = 40 << 20;
    std::vector<std::uint64_t> at(3);
    alone.run_clients(
        2,
        [&](std::uint64_t program) {
            auto& position = at[program];
            if (position >= each) return ServerRequest{};
            auto const begin = program == 1 ? 0 : each + distance;
            position += stripe;
            return read_at(program, begin + position - stripe, begin);
        },
        2 * millisecond);
    return static_cast<double>(2 * each) / 1e6 / (static_cast<double>(alone.now) / 1e9);
}

TEST(Server, two_programs_lose_with_the_distance_of_their_files) {
    double const near = two_programs_mb_s({}, 0);
    double const far = two_programs_mb_s({}, std::uint64_t{5} << 30);
    double const farther = two_programs_mb_s({}, std::uint64_t{50} << 30);
    print_check(
        "IOrchestrator fig. 8, in kind: one disk, two readers that think for 2 ms",
        "less with every distance",
        with_unit(near, "") + "> " + with_unit(far, "") + "> " + with_unit(farther, "MB/s"));
    EXPECT_GT(near, far);
    EXPECT_GT(far, farther);
}

TEST(Server, cfq_anticipates_processes_and_cannot_when_every_request_has_its_own_thread) {
    std::uint64_t const distance = std::uint64_t{50} << 30;
    double const plain = two_programs_mb_s({}, distance);
    double const process =
        two_programs_mb_s({.scheduler = "cfq", .context = ContextKind::process}, distance);
    double const request =
        two_programs_mb_s({.scheduler = "cfq", .context = ContextKind::request}, distance);
    print_check(
        "slices of one reader at a time: 65,536 B / (2 ms + 30 us) = 32.3 MB/s, less the seeks",
        "per process 29 to 32.3; per request as without a scheduler",
        with_unit(plain, "none, ") + with_unit(process, "cfq per process, ") +
            with_unit(request, "MB/s cfq per request"));
    EXPECT_GT(process, 29);
    EXPECT_LT(process, 32.3);
    EXPECT_LT(plain, 0.75 * process);
    EXPECT_NEAR(request, plain, 0.1 * plain);
}

// As cfq: what a scheduler can do for readers whom it knows.
TEST(Server, bfq_anticipates_processes_and_cannot_when_every_request_has_its_own_thread) {
    std::uint64_t const distance = std::uint64_t{50} << 30;
    double const plain = two_programs_mb_s({}, distance);
    double const process =
        two_programs_mb_s({.scheduler = "bfq", .context = ContextKind::process}, distance);
    double const request =
        two_programs_mb_s({.scheduler = "bfq", .context = ContextKind::request}, distance);
    print_check(
        "budgets of 8 MiB for one reader at a time: 65,536 B / (2 ms + 30 us) = 32.3 MB/s, less "
        "the "
        "seeks",
        "per process 29 to 32.3; per request as without a scheduler",
        with_unit(plain, "none, ") + with_unit(process, "bfq per process, ") +
            with_unit(request, "MB/s bfq per request"));
    EXPECT_GT(process, 29);
    EXPECT_LT(process, 32.3);
    EXPECT_NEAR(request, plain, 0.1 * plain);
}

TEST(Server, jitter_and_seed_replay) {
    auto const run = [](std::uint64_t seed) {
        Alone alone(shipped_profile("barracuda-7200.10"),
                    {.jitter = 50 * microsecond, .seed = seed});
        std::uint64_t at = 0;
        alone.run_clients(4, [&](std::uint64_t) {
            if (at >= 100) return ServerRequest{};
            return read_at(1, at++ * 7919 % 1009 * stripe);
        });
        return alone.now;
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
}

TEST(Server, more_requests_than_workers_wait_their_turn) {
    auto profile = shipped_profile("ssd");
    profile.host.workers = 1;
    profile.host.page_cache_bytes = 0;
    Alone alone(profile, {});
    std::uint64_t sent = 0;
    alone.run_clients(
        4, [&](std::uint64_t) { return sent < 8 ? read_at(1, sent++ * stripe) : ServerRequest{}; });
    auto const one = from_us(10) + from_us(50) + transfer_time(stripe, 500);
    print_check("8 reads of 64 KiB, one at a time: 8 * (10 + 50 + 131 us)",
                with_unit(static_cast<double>(8 * one) / 1e3, "us"),
                with_unit(static_cast<double>(alone.now) / 1e3, "us"));
    EXPECT_EQ(alone.now, 8 * one);
    EXPECT_EQ(alone.server.counters().depth_max, 4U);
}

TEST(Server, dropped_caches_are_read_again_and_discarded_bytes_are_not_written) {
    auto const profile = shipped_profile("barracuda-7200.10");
    Alone alone(profile, {});
    alone.run_one(read_at(1, 0));
    alone.server.drop_caches();
    Time const before = alone.now;
    alone.run_one(read_at(1, 0));
    EXPECT_GT(alone.now - before, millisecond);

    auto request = read_at(2, 1 << 30);
    request.operation = Operation::write;
    alone.run_one(request);
    alone.server.discard(1 << 30, stripe);
    auto const commands = alone.server.drive_counters().commands;
    alone.run_one({.operation = Operation::flush, .file = 2});
    EXPECT_EQ(alone.server.drive_counters().commands, commands + 1)
        << "the flush, nothing to write";
}

TEST(Link, messages_queue_at_the_slower_end) {
    Link client(100);
    Link server(100);
    Link other(100);
    Time const first = transfer(client, server, 60 * microsecond, 0, 1'000'000);
    Time const second = transfer(other, server, 60 * microsecond, 0, 1'000'000);
    print_check("1 MB at 100 MB/s from two clients at once: 10 ms + 60 us, then 10 ms more",
                "10.06 and 20.06 ms",
                with_unit(static_cast<double>(first) / 1e6, "and ") +
                    with_unit(static_cast<double>(second) / 1e6, "ms"));
    EXPECT_EQ(first, 10'060 * microsecond);
    EXPECT_EQ(second, 20'060 * microsecond);
}

// Two servers answer one client, whose link takes 100 MB/s: 1 MB takes 10 ms. The first sends what
// it has for another client before, for 50 ms; its answer is known first, and comes second.
TEST(Link, an_answer_that_comes_later_does_not_keep_an_idle_link) {
    Link busy_server(100);
    Link other_client(100);
    Link idle_server(100);
    Link client(100);
    transfer(busy_server, other_client, 0, 0, 5'000'000);
    EXPECT_EQ(transfer(busy_server, client, 0, 0, 1'000'000), 60 * millisecond);
    EXPECT_EQ(transfer(idle_server, client, 0, 0, 1'000'000), 10 * millisecond);
}

// Idle from 0 to 10 ms and from 20 ms on: 15 ms end at 25 ms, and not at 15 or at 35.
TEST(Link, a_message_takes_what_is_idle_and_no_more) {
    Link link(100);
    link.occupy(10 * millisecond, 1'000'000);
    auto const passage = link.occupy(0, 1'500'000);
    EXPECT_EQ(passage.begin, 0);
    EXPECT_EQ(passage.end, 25 * millisecond);
    EXPECT_EQ(link.occupy(0, 100'000).end, 26 * millisecond) << "all is busy until 25 ms";
}

// A question without data is no load: one that is known to come at 50 ms keeps nobody until then.
TEST(Link, a_message_without_bytes_keeps_nobody) {
    Link link(100);
    EXPECT_EQ(link.occupy(50 * millisecond, 0).end, 50 * millisecond);
    EXPECT_EQ(link.occupy(0, 1'000'000).end, 10 * millisecond);
    EXPECT_EQ(link.occupy(5 * millisecond, 0).end, 10 * millisecond) << "behind what is sent";
}

// Whatever the order, a link never carries more than its rate allows.
TEST(Link, no_byte_is_carried_in_the_time_of_another) {
    Random random(1);
    Link link(100);
    Time busy = 0;
    Time last = 0;
    for (int message = 0; message < 2000; ++message) {
        auto const bytes = random.below(100'000);
        Time const earliest = static_cast<Time>(random.below(100 * millisecond));
        auto const passage = link.occupy(earliest, bytes);
        EXPECT_GE(passage.begin, earliest);
        EXPECT_GE(passage.end - passage.begin, link.duration(bytes));
        busy += link.duration(bytes);
        last = std::max(last, passage.end);
    }
    EXPECT_GE(last, busy);
    EXPECT_LE(last, busy + 100 * millisecond) << "all could begin by then";
}

TEST(Link, a_slow_sender_does_not_keep_a_fast_receiver) {
    Link slow(10);
    Link fast(1000);
    EXPECT_EQ(transfer(slow, fast, 0, 0, 1'000'000), 100 * millisecond);
    EXPECT_EQ(fast.duration(1'000'000), millisecond);
}

}  // namespace
}  // namespace unisono::testbed
