#include "exchange/rendezvous.hpp"

#include <gtest/gtest.h>

#include <random>

#include "execute/thread_team.hpp"
#include "support/expect_contract.hpp"

namespace unisono {
namespace {

// What rank r of n says in a round, so that everybody's share can be told from the sum.
std::uint64_t said_by(std::uint32_t rank, int round) {
    return (rank + 1) * 1000003ULL + static_cast<std::uint64_t>(round);
}

std::vector<std::vector<std::uint32_t>> const topologies{
    {0}, {0, 0}, {0, 0, 0, 0, 0}, {0, 1}, {0, 1, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 2, 3}};

// Ranks come late by turns, so that others are one meeting ahead.
void come_late(std::mt19937_64& clock) {
    if (clock() % 8 == 0) std::this_thread::yield();
}

TEST(Rendezvous, merges_what_every_rank_brings_meeting_after_meeting) {
    for (auto const& labels : topologies) {
        SCOPED_TRACE(testing::PrintToString(labels));
        ThreadTeams teams{make_topology(labels)};
        auto const ranks = static_cast<std::uint32_t>(labels.size());
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            std::mt19937_64 clock{team.rank()};
            for (int round = 0; round < 300; ++round) {
                come_late(clock);
                Verdict verdict;
                verdict.lost_bytes = said_by(team.rank(), round);
                verdict.stopped_at = 1000 + (team.rank() + static_cast<unsigned>(round)) % ranks;
                rendezvous.meet(verdict);
                std::uint64_t sum = 0;
                for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += said_by(rank, round);
                ASSERT_EQ(verdict.lost_bytes, sum) << round;
                ASSERT_EQ(verdict.stopped_at, 1000u) << round;
            }
            EXPECT_EQ(team.traffic().meetings, 300u);
        });
    }
}

// Of equal errors the first one counts: the lowest rank's of the lowest node.
TEST(Rendezvous, merges_in_rank_order_within_nodes_and_in_node_order) {
    for (auto const& labels : topologies) {
        SCOPED_TRACE(testing::PrintToString(labels));
        auto const topology = make_topology(labels);
        for (std::uint32_t silent = 0; silent < labels.size(); ++silent) {
            std::vector<std::uint32_t> order;
            for (auto const& ranks : topology.ranks_of)
                for (auto const rank : ranks)
                    if (rank >= silent) order.push_back(rank);
            ThreadTeams teams{topology};
            teams.run([&](Team& team, Rendezvous& rendezvous) {
                IoResult failed;
                if (team.rank() >= silent) failed.error = {5, "pwrite", 77};
                Verdict verdict{failed, team.rank()};
                rendezvous.meet(verdict);
                EXPECT_EQ(verdict.code, 5);
                EXPECT_EQ(verdict.rank, order.front());
            });
        }
    }
}

TEST(Rendezvous, nobody_passes_a_barrier_before_all_of_the_node_are_there) {
    for (auto const& labels : topologies) {
        SCOPED_TRACE(testing::PrintToString(labels));
        auto const topology = make_topology(labels);
        ThreadTeams teams{topology};
        std::vector<std::atomic<std::uint64_t>> arrived(topology.nodes());
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            std::mt19937_64 clock{team.rank()};
            auto const node = topology.node_of[team.rank()];
            auto const ranks = topology.ranks_of[node].size();
            for (std::uint64_t round = 1; round <= 300; ++round) {
                come_late(clock);
                ++arrived[node];
                rendezvous.barrier();
                ASSERT_GE(arrived[node], round * ranks);
                ASSERT_LE(arrived[node], (round + 1) * ranks) << "one round ahead at most";
            }
            EXPECT_EQ(team.traffic().barriers, 300u);
        });
    }
}

// Nodes have barriers of their own between meetings; they do not count alike.
TEST(Rendezvous, nodes_may_have_different_numbers_of_barriers_between_meetings) {
    ThreadTeams teams{make_topology({0, 1, 0, 1, 2})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        for (int round = 0; round < 100; ++round) {
            for (auto n = (team.topology().node_of[team.rank()] + static_cast<unsigned>(round)) % 3;
                 n > 0; --n)
                rendezvous.barrier();
            Verdict verdict;
            verdict.lost_bytes = said_by(team.rank(), round);
            rendezvous.meet(verdict);
            std::uint64_t sum = 0;
            for (std::uint32_t rank = 0; rank < 5; ++rank) sum += said_by(rank, round);
            ASSERT_EQ(verdict.lost_bytes, sum) << round;
        }
    });
}

TEST(RendezvousContract, has_room_for_its_ranks_and_is_one_of_them) {
    ThreadTeams teams{make_topology({0})};
    alignas(64) std::array<std::byte, 2048> memory{};
    teams.run([&]([[maybe_unused]] Team& team, Rendezvous&) {
        [[maybe_unused]] auto const enough = std::span{memory}.first(Rendezvous::bytes_needed(2));
        EXPECT_CONTRACT(Rendezvous(team, enough, 2, 2), "local_index");
        EXPECT_CONTRACT(Rendezvous(team, enough.first(enough.size() - 1), 0, 2), "memory");
    });
}

}  // namespace
}  // namespace unisono
