#include "simulated/simulated_team.hpp"

#include <gtest/gtest.h>

#include <set>

namespace unisono::simulated {
namespace {

Conditions restless(std::uint64_t seed) {
    return {.seed = seed, .delay_ticks_max = 200, .pause_ticks_max = 20, .synchronous = true};
}

Message message_of(int number) { return Message(1, static_cast<std::byte>(number)); }

// Rank 0 and rank 1 send ten messages each, of two kinds; rank 2 takes them as it likes.
std::vector<int> order_of_events(Conditions const& conditions) {
    std::vector<int> order;
    SimulatedTeams teams{make_topology({0, 1, 2}), conditions};
    teams.trace = [&](Event const& event) { order.push_back(static_cast<int>(event.rank)); };
    auto const ended = teams.run([](SimulatedTeam& team, Rendezvous&) {
        for (int number = 0; number < 10; ++number) {
            if (team.rank() < 2) {
                team.send(2, Team::Kind::data, message_of(number));
                continue;
            }
            for (std::uint32_t from : {0U, 1U})
                EXPECT_EQ(team.receive(from, Team::Kind::data), message_of(number));
        }
        team.finish_sends(0);
    });
    EXPECT_TRUE(ended.deadlock.empty());
    return order;
}

TEST(SimulatedTeam, equal_seeds_make_equal_orders_and_others_make_others) {
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const order = order_of_events(restless(seed));
        EXPECT_EQ(order, order_of_events(restless(seed)));
        different.insert(order);
    }
    EXPECT_GT(different.size(), 10u);
}

TEST(SimulatedTeam, messages_of_one_kind_keep_their_order_and_kinds_overtake_each_other) {
    int overtaken = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SimulatedTeams teams{make_topology({0, 1}), restless(seed)};
        double data_came_s = 0, view_came_s = 0;
        teams.run([&](SimulatedTeam& team, Rendezvous&) {
            if (team.rank() == 0) {
                team.send(1, Team::Kind::data, message_of(1));
                team.send(1, Team::Kind::view, message_of(2));
                team.send(1, Team::Kind::data, message_of(3));
                return;
            }
            EXPECT_EQ(team.receive(0, Team::Kind::view), message_of(2));
            view_came_s = now_s();
            EXPECT_EQ(team.receive(0, Team::Kind::data), message_of(1));
            data_came_s = now_s();
            EXPECT_EQ(team.receive(0, Team::Kind::data), message_of(3));
        });
        if (data_came_s > view_came_s) ++overtaken;
    }
    EXPECT_GT(overtaken, 5);
}

TEST(SimulatedTeam, ranks_agree_share_memory_and_gather) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SimulatedTeams teams{make_topology({0, 0, 1, 0, 1}), restless(seed)};
        auto const ended = teams.run([](SimulatedTeam& team, Rendezvous& rendezvous) {
            Verdict verdict;
            verdict.lost_bytes = 1U << team.rank();
            rendezvous.meet(verdict);
            EXPECT_EQ(verdict.lost_bytes, 31u);
            auto const memory = team.node_memory(Team::Area::windows, 5);
            memory[team.rank()] = std::byte{1};
            rendezvous.barrier();
            auto const& neighbours = team.topology().ranks_near(team.rank());
            for (auto const rank : neighbours) EXPECT_EQ(memory[rank], std::byte{1});
            auto const mine = team.rank() * 10;
            EXPECT_EQ(team.gather_values(std::span{&mine, 1}),
                      (std::vector<std::uint32_t>{0, 10, 20, 30, 40}));
            std::uint64_t least = team.rank() + 7;
            team.minimum({&least, 1});
            EXPECT_EQ(least, 7u);
            std::uint64_t bits = 1U << team.rank();
            team.unite({&bits, 1}, Team::Among::node);
            EXPECT_EQ(bits, team.topology().node_of[team.rank()] == 0 ? 0b01011u : 0b10100u);
            team.unite({&bits, 1}, Team::Among::all);
            EXPECT_EQ(bits, 31u);
            std::array<std::uint64_t, 2> sums{1, team.rank()};
            team.sum(sums, Team::Among::all);
            EXPECT_EQ(sums, (std::array<std::uint64_t, 2>{5, 10}));
            team.sum(sums, Team::Among::node);
            EXPECT_EQ(sums[0], team.topology().node_of[team.rank()] == 0 ? 15u : 10u);
        });
        EXPECT_TRUE(ended.deadlock.empty());
        EXPECT_TRUE(ended.failures.empty());
    }
}

TEST(SimulatedTeam, a_node_without_memory_has_none_on_all_its_ranks) {
    Conditions conditions;
    conditions.node_lacks_memory = {false, true};
    SimulatedTeams teams{make_topology({0, 0, 1, 1}), conditions};
    teams.run([](SimulatedTeam& team, Rendezvous&) {
        EXPECT_EQ(team.node_memory(Team::Area::windows, 10).empty(), team.rank() > 1);
        EXPECT_EQ(team.own_node_memory(10) == nullptr, team.rank() > 1);
    });
}

TEST(SimulatedTeam, a_synchronous_message_has_left_when_it_is_received) {
    bool left_before_it_was_received = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        bool received = false;
        SimulatedTeams teams{make_topology({0, 1}), restless(seed)};
        auto const ended = teams.run([&](SimulatedTeam& team, Rendezvous&) {
            if (team.rank() == 0) {
                for (int number = 0; number < 8; ++number)
                    team.send(1, Team::Kind::data, message_of(number));
                team.finish_sends(0);
                if (!received) left_before_it_was_received = true;
            } else {
                received = true;
                for (int number = 0; number < 8; ++number) team.receive(0, Team::Kind::data);
            }
        });
        EXPECT_TRUE(ended.deadlock.empty());
    }
    EXPECT_FALSE(left_before_it_was_received);
}

// They are taken in a later call of their own file; between calls of two files that was a deadlock.
TEST(SimulatedTeam, deposits_that_nobody_has_taken_hold_no_other_message_up) {
    auto const deposit = Team::Kind::deposit;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SimulatedTeams teams{make_topology({0, 1}), restless(seed)};
        auto const ended = teams.run([&](SimulatedTeam& team, Rendezvous& rendezvous) {
            if (team.rank() == 0) {
                team.send(1, deposit, message_of(1));
                team.send(1, Team::Kind::data, message_of(2));
            } else {
                EXPECT_EQ(team.receive(0, Team::Kind::data), message_of(2));
            }
            team.finish_sends(0);
            Verdict call_of_another_file;
            rendezvous.meet(call_of_another_file);
            if (team.rank() == 1) {
                EXPECT_EQ(team.receive(0, deposit), message_of(1));
                EXPECT_FALSE(team.receive_any(deposit));
            }
            team.finish_deposits(deposit);
        });
        EXPECT_TRUE(ended.deadlock.empty());
    }
}

TEST(SimulatedTeam, a_deadlock_is_found_and_says_where_each_rank_stands) {
    SimulatedTeams teams{make_topology({0, 0, 1}), restless(1)};
    auto const ended = teams.run([](SimulatedTeam& team, Rendezvous& rendezvous) {
        team.say("call 5");
        if (team.rank() == 0) rendezvous.barrier();
        if (team.rank() == 1) team.receive(2, Team::Kind::view);
    });
    ASSERT_EQ(ended.deadlock.size(), 2u);
    EXPECT_EQ(
        ended.deadlock[0],
        "rank 0 on node 0, call 5: waits at a barrier, after 0 meetings, 1 barriers, 1 awaits");
    EXPECT_EQ(
        ended.deadlock[1],
        "rank 1 on node 0, call 5: receives a view from rank 2, after 0 meetings, 0 barriers, "
        "1 awaits");
    EXPECT_EQ(order_of_events(restless(0)), order_of_events(restless(0)));  // another run goes on
}

TEST(SimulatedTeam,
     a_rank_that_stops_for_a_while_is_waited_for_and_one_that_stops_for_good_is_not) {
    for (std::uint64_t const ticks : {1000, 1'000'000'000, 0}) {
        Conditions conditions;
        conditions.stalls = {{1, 0, ticks}};
        SimulatedTeams teams{make_topology({0, 0}), conditions};
        auto const ended =
            teams.run([](SimulatedTeam&, Rendezvous& rendezvous) { rendezvous.barrier(); });
        EXPECT_EQ(ended.deadlock.size(), ticks == 0 ? 2u : 0u);
        EXPECT_GE(ended.virtual_s, static_cast<double>(ticks) * tick_s);
    }
}

TEST(SimulatedTeam, a_rank_may_wait_for_time_to_pass) {
    SimulatedTeams teams{make_topology({0, 0}), {}};
    auto const ended = teams.run([](SimulatedTeam& team, Rendezvous& rendezvous) {
        for (auto const begun_s = now_s(); team.rank() == 0 && now_s() - begun_s < 0.3;)
            team.idle();
        rendezvous.barrier();
    });
    EXPECT_TRUE(ended.deadlock.empty());
    EXPECT_GE(ended.virtual_s, 0.3);
    EXPECT_LT(ended.virtual_s, 0.7);
}

// 1 MiB at 12.5e9 bytes/s takes 84 us and the latency, and two senders on one link twice as long.
TEST(SimulatedTeam, messages_share_the_links_of_a_network) {
    auto const seconds_for = [](std::vector<std::uint32_t> const& nodes) {
        SimulatedTeams teams{make_topology(nodes), {.network = Network{.message_s = 0}}};
        auto const senders = static_cast<std::uint32_t>(nodes.size()) - 1;
        return teams
            .run([&](SimulatedTeam& team, Rendezvous&) {
                if (team.rank() != senders)
                    return team.send(senders, Team::Kind::data, Message(1 << 20));
                for (std::uint32_t from = 0; from < senders; ++from)
                    team.receive(from, Team::Kind::data);
            })
            .virtual_s;
    };
    auto const one_s = seconds_for({0, 1});
    EXPECT_NEAR(one_s, 2e-6 + (1 << 20) / 12.5e9, 1e-9);
    EXPECT_NEAR(seconds_for({0, 1, 2}), one_s + (1 << 20) / 12.5e9, 1e-9);
}

// Messages of 1 us come every 2 us: 3 us each if one only began to come when the one before was
// dealt with.
TEST(SimulatedTeam, a_message_is_dealt_with_while_the_next_one_comes) {
    constexpr std::uint32_t messages = 100;
    SimulatedTeams teams{
        make_topology({0, 1}),
        {.network = Network{.latency_s = 1e-9, .bytes_per_s = 5e5, .message_s = 1e-6}}};
    auto const ended = teams.run([](SimulatedTeam& team, Rendezvous&) {
        for (std::uint32_t i = 0; i < messages; ++i)
            if (team.rank() == 0)
                team.send(1, Team::Kind::data, Message(1));
            else
                team.receive_next(Team::Kind::data);
    });
    EXPECT_NEAR(ended.virtual_s, messages * 2e-6 + 1e-6, 1e-6);
}

// At 1 byte/s: node 0 sends 10 bytes to node 1, and then 5 to node 2, which come to its link at
// 11 s; node 1 sends 3 to node 2 at 1 s, which come at 2 s. They are there at 5 s, not after the 5.
TEST(Links, a_message_does_not_wait_for_one_that_was_sent_before_and_has_not_come_to_the_link) {
    Links links{3, {.latency_s = 1, .bytes_per_s = 1}};
    EXPECT_EQ(links.arrival(*links.send(0, 0, 1, 10), 1), 11);
    auto const held_up = links.send(0, 0, 2, 5);
    auto const later = links.send(1, 1, 2, 3);
    EXPECT_EQ(later->reaches_s, 2);
    EXPECT_EQ(links.arrival(*later, 2), 5);
    EXPECT_EQ(held_up->reaches_s, 11);
    EXPECT_EQ(links.arrival(*held_up, 2), 16);
}

// At 2 bytes/s into node 0; the server sends 1 byte/s: the last of 10 leaves at 10 s.
TEST(Links, what_a_slow_server_sends_is_not_there_before_it_has_left) {
    Links links{1, {.latency_s = 1, .bytes_per_s = 2, .servers = 1, .server_bytes_per_s = 1}};
    EXPECT_EQ(links.arrival(*links.send(0, 1, 0, 10), 0), 11);
}

// 5 nodes of up to 4 ranks: up and down a node's tree two steps each, of 1 s; between leaders two
// steps and one before and one after for the fifth, of 10 + 1 s and 3 bytes at 1 byte/s; 7 bytes.
TEST(CollectiveCost, of_a_reduction_is_trees_within_nodes_and_doubling_between_them) {
    Network const network{.latency_s = 10, .bytes_per_s = 1, .message_s = 1};
    EXPECT_EQ((CollectiveCost{network, 5, 4}.merge_s(3, 7)), 4 * 1 + 4 * (10 + 1 + 3) + 7);
    EXPECT_EQ((CollectiveCost{network, 4, 1}.merge_s(3)), 2 * (10 + 1 + 3));
    EXPECT_EQ((CollectiveCost{network, 1, 4}.merge_s(3)), 4 * 1);
}

// 4 nodes of 2 ranks: three steps; the first crosses between two nodes at one place only, the
// others carry 4 of 8 blocks for both ranks of a node.
TEST(CollectiveCost, of_an_alltoall_is_half_of_all_blocks_a_step) {
    Network const network{.latency_s = 10, .bytes_per_s = 1, .message_s = 1};
    EXPECT_EQ((CollectiveCost{network, 4, 2}.alltoall_s(3)), 1 + 11 + 2 * (11 + 4 * 3 * 2));
}

TEST(Links, messages_that_come_to_a_link_together_share_it) {
    Links links{3, {.latency_s = 1, .bytes_per_s = 1}};
    auto const first = links.send(0, 0, 2, 4);
    auto const second = links.send(0, 1, 2, 4);
    EXPECT_EQ(links.arrival(*second, 2), 9);  // 1 + 4 + 4
    EXPECT_EQ(links.arrival(*first, 2), 5);
}

}  // namespace
}  // namespace unisono::simulated
