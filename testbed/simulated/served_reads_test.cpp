// Reads through modelled servers, on the virtual clock of simulated ranks.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <stdexcept>

#include "model/test_support.hpp"
#include "simulated/servers_case.hpp"

namespace unisono::simulated {
namespace {

ServersCase one_read() {
    return {.profile = testbed::shipped_profile("instant"),
            .servers = 1,
            .ranks = 1,
            .pieces = 1,
            .file_bytes = 65536,
            .strategy = "pieces"};
}

double read_s(ServersCase const& servers) {
    auto const result = run(scale_case_of(servers));
    EXPECT_EQ(result.wrong, "");
    EXPECT_EQ(result.bytes, servers.file_bytes);
    return result.read_s;
}

// Question and answer take a latency each, the server its own time, and 64 KiB cross one link after
// the other as they come.
TEST(ServedReads, one_read_takes_the_servers_time_two_latencies_and_its_bytes) {
    auto const servers = one_read();
    auto const& link = servers.profile.link;
    auto const us =
        2 * link.latency_us + servers.profile.host.request_us + 65536 / link.client_mb_s;
    testbed::print_check("2 latencies + request_us + 64 KiB / client_mb_s",
                         testbed::with_unit(us, "us"),
                         testbed::with_unit(read_s(servers) * 1e6, "us"));
    EXPECT_NEAR(read_s(servers) * 1e6, us, 0.1);
}

// Four servers send to one node at once: its link is the limit.
TEST(ServedReads, answers_of_all_servers_share_the_nodes_link) {
    auto servers = one_read();
    servers.servers = 4;
    servers.piece_bytes = servers.file_bytes = 256 * 1024;
    auto const& link = servers.profile.link;
    auto const us =
        2 * link.latency_us + servers.profile.host.request_us + 4 * 65536 / link.client_mb_s;
    EXPECT_NEAR(read_s(servers) * 1e6, us, 0.1);
}

// A seed replays exactly in a process of its own (bench/test_papers.py): a second run in one
// process begins later on the clock, and rounds otherwise.
TEST(ServedReads, another_seed_takes_another_time) {
    ServersCase servers{.profile = testbed::shipped_profile("resonant-2009"),
                        .options = {.jitter = 50 * testbed::microsecond, .seed = 1000},
                        .file_bytes = 8 << 20,
                        .strategy = "romio"};
    auto const first = read_s(servers);
    servers.options.seed = 2000;
    EXPECT_NE(read_s(servers), first);
}

// Each rank's 64 KiB segments are on one server, in order, when all ask for themselves: no request
// comes out of order. Two-phase has each of four aggregators ask all four servers.
TEST(ServedReads, segments_of_a_stripe_unit_resonate_when_ranks_ask_for_themselves) {
    ServersCase servers{.profile = testbed::shipped_profile("resonant-2009"),
                        .options = {.jitter = 50 * testbed::microsecond, .seed = 1000},
                        .file_bytes = 8 << 20,
                        .strategy = "pieces"};
    auto const alone = run(scale_case_of(servers));
    servers.strategy = "romio";
    auto const together = run(scale_case_of(servers));
    std::printf("> in order: pieces %llu of %llu, two-phase %llu of %llu\n",
                static_cast<unsigned long long>(alone.served.ascending),
                static_cast<unsigned long long>(alone.served.reads),
                static_cast<unsigned long long>(together.served.ascending),
                static_cast<unsigned long long>(together.served.reads));
    EXPECT_EQ(alone.served.ascending, alone.served.reads);
    EXPECT_LT(together.served.ascending, together.served.reads);
}

// ROMIO goes by what is wanted of a window, and not by where a rank begins and ends: with a buffer
// of 1 MiB an aggregator reads the first MiB, four requests of 256 KiB, and nothing more until rank
// 0's other piece, at 32 MiB, which is one.
TEST(ServedReads, romio_reads_no_window_in_which_nobody_has_a_piece) {
    auto servers = one_read();
    servers.ranks = servers.ranks_per_node = 2;
    servers.file_bytes = 2 * 65536;
    servers.strategy = "romio";
    servers.cb_buffer_size = 1 << 20;
    auto scale = scale_case_of(servers);
    scale.servers->object_bytes = 64 << 20;
    std::int64_t const far = 32 << 20;
    auto const pieces = make_blocks(std::array<std::int64_t, 2>{0, far},
                                    std::array<std::uint64_t, 2>{65536, 65536});
    scale.calls[0].first = {{pieces, 0, far + 65536}, {0, 2 * 65536}};
    EXPECT_EQ(run(scale).served.reads, 4u + 1u);
}

TEST(ServedReads, dealt_pieces_are_all_of_the_file_once) {
    ServersCase servers{.profile = testbed::shipped_profile("instant"), .dealt = true};
    auto const scale = scale_case_of(servers);
    std::set<std::uint64_t> begun;
    for (auto const& its : scale.calls)
        for (std::uint64_t call = 0; call < its.calls; ++call)
            begun.insert(static_cast<std::uint64_t>(its.first.tiling.origin) + its.shift_of(call));
    EXPECT_EQ(begun.size(), servers.file_bytes / servers.piece_bytes);
    EXPECT_EQ(*begun.rbegin(), servers.file_bytes - servers.piece_bytes);
}

TEST(ServedReads, a_file_that_is_no_whole_number_of_calls_is_refused) {
    auto servers = one_read();
    servers.file_bytes = 100'000;
    EXPECT_THROW(scale_case_of(servers), std::invalid_argument);
}

}  // namespace
}  // namespace unisono::simulated
