#include "execute/staged/expected_data.hpp"

#include <gtest/gtest.h>

#include "execute/thread_team.hpp"

namespace unisono {
namespace {

// Three aggregators with a byte each round, ranks 0, 2 and 4 of three nodes; rank r has so many
// bytes for round n of aggregator a.
struct Made {
    std::vector<Realm> realms;
    std::vector<Extent> whole;

    explicit Made(std::uint64_t rounds) : whole{{0, 3 * rounds}} {
        for (std::uint64_t i = 0; i < 3; ++i)
            realms.push_back(contiguous_realm({i * rounds, (i + 1) * rounds}));
    }
    [[nodiscard]] RoundSchedule schedule() const { return RoundSchedule{realms, 1, whole}; }

    static std::uint64_t bytes(std::uint32_t rank, std::uint64_t round, std::size_t aggregator) {
        if (rank / 2 == aggregator) return 0;
        return (rank * 7 + round * 3 + aggregator * 5) % 4;
    }
};

// Each rank compares what it learnt with what all ranks have, of a round and of the one before,
// which is collected after this one was sent: else calls of very many windows hung.
void check(std::uint64_t rounds, std::uint64_t learnt_at_once) {
    Made const made{rounds};
    ThreadTeams teams{make_topology({0, 0, 1, 1, 2, 2})};
    teams.run([&](Team& team, Rendezvous&) {
        ExpectedData expected;
        auto schedule = made.schedule();
        std::uint64_t times_learnt = 0;
        Round before;
        while (schedule.any_left()) {
            if (!expected.know(schedule.rounds_taken())) {
                ++times_learnt;
                auto const sum =
                    expected.learn({.team = team,
                                    .bytes_for =
                                        [&](Round const& round, std::size_t to) {
                                            return Made::bytes(team.rank(), round.number, to);
                                        }},
                                   schedule, team.rank());
                EXPECT_EQ(sum, 15u);
            }
            auto round = schedule.next();
            auto const is_known = [&](Round const& known) {
                for (std::size_t to = 0; to < 3; ++to) {
                    std::uint64_t come = 0;
                    for (std::uint32_t rank = 0; rank < 6; ++rank)
                        come += Made::bytes(rank, known.number, to);
                    ASSERT_EQ(expected.bytes(known, to), come) << known.number << " " << to;
                }
            };
            is_known(before);
            is_known(round);
            before = std::move(round);
        }
        EXPECT_EQ(times_learnt, div_ceil(rounds, learnt_at_once));
    });
}

TEST(ExpectedData, are_all_bytes_for_a_window_but_the_nodes_own) { check(40, 40); }
TEST(ExpectedData, are_learnt_anew_where_rounds_are_very_many) { check(50'000, 65536 / 3); }

// Derivation: rank 1 has 6 bytes for one window and 2 for another one, the others have nothing.
TEST(ExpectedData, know_how_long_a_message_is_in_the_mean) {
    Made const made{1};
    ThreadTeams teams{make_topology({0, 1, 2})};
    teams.run([&](Team& team, Rendezvous&) {
        auto const learn = [&](std::uint32_t sender) {
            ExpectedData expected;
            expected.learn({.team = team,
                            .bytes_for = [&](Round const&, std::size_t to) -> std::uint64_t {
                                return team.rank() == sender && to != 1 ? 2 + 2 * to : 0;
                            }},
                           made.schedule(), 0);
            return expected.mean_message_bytes();
        };
        EXPECT_EQ(learn(1), 4u);
        EXPECT_EQ(learn(7), 0u) << "nobody";
    });
}

}  // namespace
}  // namespace unisono
