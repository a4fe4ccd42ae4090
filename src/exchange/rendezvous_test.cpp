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

constexpr CallTag one_call{.file = 1, .operation = 1, .matching = 1};
constexpr CallTag another_call{.file = 1, .operation = 2, .matching = 2};

// In rank order within nodes, and in node order.
std::vector<std::uint32_t> merging_order(Topology const& topology) {
    std::vector<std::uint32_t> order;
    for (auto const& ranks : topology.ranks_of)
        order.insert(order.end(), ranks.begin(), ranks.end());
    return order;
}

template <class Meet>
Difference difference_found(Meet&& meet) {
    try {
        meet();
    } catch (CallsDiffer const& found) {
        return found.difference;
    }
    return {};
}

TEST(Rendezvous, all_ranks_learn_that_one_is_there_for_another_call) {
    for (auto const& labels : topologies) {
        SCOPED_TRACE(testing::PrintToString(labels));
        auto const topology = make_topology(labels);
        auto const order = merging_order(topology);
        for (std::uint32_t odd = 0; odd < labels.size() && labels.size() > 1; ++odd) {
            ThreadTeams teams{topology};
            teams.run([&](Team& team, Rendezvous& rendezvous) {
                auto const is_odd = team.rank() == odd;
                rendezvous.note().enter(is_odd ? another_call : one_call, 1, 0);
                auto const found = difference_found([&] {
                    Notice notice;
                    Proposal proposal;
                    if (is_odd)
                        rendezvous.meet(notice);
                    else
                        rendezvous.meet(proposal);
                });
                EXPECT_EQ(found.first_rank, order.front());
                EXPECT_EQ(found.other_rank, odd == order.front() ? order[1] : odd);
                EXPECT_EQ(found.first, odd == order.front() ? another_call : one_call);
                // They are in step again.
                rendezvous.note().enter(one_call, 2, 0);
                Verdict verdict;
                verdict.lost_bytes = 1;
                rendezvous.meet(verdict);
                EXPECT_EQ(verdict.lost_bytes, labels.size());
            });
        }
    }
}

TEST(Rendezvous, a_meeting_does_not_take_a_barrier_of_another_call_for_an_answer) {
    for (std::uint32_t odd : {0, 1, 2}) {
        ThreadTeams teams{make_topology({0, 0, 0})};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            rendezvous.note().enter(team.rank() == odd ? another_call : one_call, 1, 0);
            auto const found = difference_found([&] {
                Notice notice;
                if (team.rank() == odd) return rendezvous.barrier();
                rendezvous.meet(notice);
            });
            EXPECT_EQ(found.first_rank, 0U);
            EXPECT_EQ(found.other_rank, odd == 0 ? 1 : odd);
        });
    }
}

// Each took what the other brought for something of its own kind.
TEST(Rendezvous, ranks_of_a_node_that_meet_for_different_things_in_one_call_learn_of_it) {
    for (auto const& labels : {std::vector<std::uint32_t>{0, 0}, {0, 0, 1}}) {
        ThreadTeams teams{make_topology(labels)};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            rendezvous.note().enter(one_call, 1, 0);
            auto const found = difference_found([&] {
                Notice notice;
                CallArguments arguments;
                if (team.rank() == 1) return rendezvous.meet(notice);
                rendezvous.meet(arguments);
            });
            EXPECT_EQ(found.first_rank, 0U);
            EXPECT_EQ(found.other_rank, 1U);
        });
    }
}

TEST(Rendezvous, calls_that_go_together_may_have_different_names) {
    ThreadTeams teams{make_topology({0, 1, 0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        auto call = one_call;
        call.operation = static_cast<std::uint16_t>(team.rank());
        rendezvous.note().enter(call, 1, 0);
        rendezvous.barrier();
        Notice notice;
        rendezvous.meet(notice);
    });
}

TEST(Rendezvous, ranks_of_a_node_see_where_each_other_is) {
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([&](Team& team, Rendezvous& rendezvous) {
        rendezvous.note().enter(one_call, 5 + team.rank(), 4096);
        if (team.rank() == 1) rendezvous.note().accesses = 1;
        rendezvous.barrier();
        auto const seen = rendezvous.seen(1);
        EXPECT_EQ(seen.tag, one_call);
        EXPECT_EQ(seen.number, 6U);
        EXPECT_EQ(seen.offset, 4096U);
        EXPECT_TRUE(seen.inside);
        EXPECT_TRUE(seen.accesses);
        EXPECT_FALSE(rendezvous.seen(0).accesses);
        rendezvous.barrier();
        if (team.rank() == 1) rendezvous.note().leave();
        rendezvous.barrier();
        EXPECT_FALSE(rendezvous.seen(1).inside);
        EXPECT_GT(rendezvous.seen(1).progress, seen.progress);
    });
}

TEST(Verdict, of_several_losses_names_the_range_that_holds_all) {
    auto const lost = [](std::uint64_t begin, std::uint64_t end) {
        IoResult result;
        result.error = {.code = EDQUOT, .call = "pwritev", .offset = begin};
        Verdict verdict{result, 0};
        verdict.lost_end = end;
        verdict.lost_bytes = end - begin;
        return verdict;
    };
    auto verdict = lost(100, 120);
    verdict.merge(lost(300, 350));
    verdict.merge(lost(40, 60));
    EXPECT_EQ(verdict.offset, 40U);
    EXPECT_EQ(verdict.lost_end, 350U);
    EXPECT_EQ(verdict.lost_bytes, 90U);
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
