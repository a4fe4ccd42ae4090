#include "execute/staged/expected_messages.hpp"

#include <gtest/gtest.h>

#include "execute/thread_team.hpp"

namespace unisono {
namespace {

// Three aggregators with a byte each round, ranks 0, 2 and 4 of three nodes; rank r has bytes in
// round n of aggregator a where its bit says so.
struct Made {
    std::vector<std::uint32_t> aggregators{0, 2, 4};
    std::vector<Realm> realms;
    std::uint64_t rounds;

    explicit Made(std::uint64_t rounds) : rounds{rounds} {
        for (std::uint64_t i = 0; i < 3; ++i)
            realms.push_back(contiguous_realm({i * rounds, (i + 1) * rounds}));
    }
    [[nodiscard]] RoundSchedule schedule() const { return RoundSchedule{realms, 1, whole}; }
    std::vector<Extent> whole{{0, 3 * rounds}};

    static bool has(std::uint32_t rank, std::uint64_t round, std::size_t aggregator) {
        return ((rank * 7 + round * 3 + aggregator * 5) / 4) % 3 == 0;
    }
};

// Each rank compares what it learnt with what all ranks have.
void check(bool node_aggregated, std::uint64_t rounds) {
    Made const made{rounds};
    auto const topology = make_topology({0, 0, 1, 1, 2, 2});
    ThreadTeams teams{topology};
    teams.run([&](Team& team, Rendezvous&) {
        auto const& node_of = team.topology().node_of;
        auto const sends_to = [&](std::uint32_t rank, std::size_t to) {
            auto const& ranks = team.topology().ranks_of[node_of[rank]];
            return node_of[made.aggregators[to]] != node_of[rank] &&
                   (!node_aggregated || ranks[to % 2] == rank);
        };
        auto const has = [&](std::uint32_t rank, std::uint64_t round, std::size_t in) {
            if (!node_aggregated) return Made::has(rank, round, in);
            auto const& ranks = team.topology().ranks_of[node_of[rank]];
            return Made::has(ranks[0], round, in) || Made::has(ranks[1], round, in);
        };
        ExpectedMessages expected;
        auto schedule = made.schedule();
        while (schedule.any_left()) {
            if (!expected.know(schedule.rounds_taken())) {
                auto const sum = expected.learn(
                    {.team = team,
                     .node_aggregated = node_aggregated,
                     .sends_to = [&](std::size_t to) { return sends_to(team.rank(), to); },
                     .has_bytes_in =
                         [&](Round const& round, std::size_t in) {
                             return Made::has(team.rank(), round.number, in);
                         }},
                    schedule, team.rank());
                EXPECT_EQ(sum, 15u);
            }
            auto const round = schedule.next();
            for (std::size_t to = 0; to < 3; ++to) {
                std::uint64_t come = 0;
                for (std::uint32_t rank = 0; rank < 6; ++rank)
                    if (sends_to(rank, to) && has(rank, round.number, to)) ++come;
                ASSERT_EQ(expected.come(round, to), come) << round.number << " " << to;
                ASSERT_EQ(expected.sends(round, to),
                          sends_to(team.rank(), to) && has(team.rank(), round.number, to));
            }
        }
    });
}

TEST(ExpectedMessages, are_those_of_ranks_with_bytes_in_a_window) { check(false, 40); }
TEST(ExpectedMessages, are_one_of_each_node_with_node_aggregation) { check(true, 40); }
TEST(ExpectedMessages, are_learnt_anew_where_rounds_are_very_many) { check(true, 50'000); }

}  // namespace
}  // namespace unisono
