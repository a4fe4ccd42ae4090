#include "execute/staged/node_mail.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "execute/thread_team.hpp"
#include "support/expect_contract.hpp"

namespace unisono {
namespace {

constexpr std::size_t aggregators = 5;

bool all_are(std::span<std::byte const> bytes, std::uint64_t value) {
    return std::ranges::all_of(
        bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

// Each rank of two nodes of three has a block for each aggregator but one, with room for an answer.
// Another one writes the answers.
TEST(NodeMail, has_what_each_rank_has_to_say_to_each_aggregator_and_room_for_the_answer) {
    ThreadTeams teams{make_topology({0, 0, 0, 1, 1, 1})};
    teams.run([](Team& team, Rendezvous& rendezvous) {
        NodeMail mail{team, aggregators, 1000};
        ASSERT_TRUE(mail.there());
        auto const own = mail.local_index();
        auto const has = [](std::size_t rank, std::size_t to) { return rank != to; };
        auto const value = [&](std::size_t rank, std::size_t to, std::uint64_t round) {
            return 1 + rank + 3 * to + 15 * (round % 3) + team.rank() / 3 * 100;
        };
        for (std::uint64_t const round :
             {0, 1, 2, 3}) {  // the fourth one has what was the first one's
            mail.empty_own(round);
            for (std::size_t to = 0; to < aggregators; ++to) {
                if (!has(own, to)) continue;
                auto const room = mail.put(round, to, 10 + to, 20);
                ASSERT_EQ(room.size(), 10 + to);
                std::ranges::fill(room, static_cast<std::byte>(value(own, to, round)));
            }
            rendezvous.barrier();
            for (std::size_t rank = 0; rank < 3; ++rank)
                for (std::size_t to = 0; to < aggregators; ++to) {
                    auto const bytes = mail.block(round, rank, to).bytes;
                    EXPECT_EQ(bytes.size(), has(rank, to) ? 10 + to : 0);
                    EXPECT_TRUE(all_are(bytes, value(rank, to, round)));
                }
            rendezvous.barrier();
            auto const next = (own + 1) % 3;
            for (std::size_t to = 0; to < aggregators; ++to) {
                if (!has(next, to)) continue;
                std::ranges::fill(mail.block(round, next, to).answer,
                                  static_cast<std::byte>(200 + to));
                mail.shorten_answer(round, next, to, 15);
            }
            rendezvous.barrier();
            for (std::size_t to = 0; to < aggregators; ++to) {
                auto const [bytes, answer] = mail.block(round, own, to);
                EXPECT_EQ(answer.size(), has(own, to) ? 15 : 0);
                EXPECT_TRUE(all_are(bytes, value(own, to, round)) && all_are(answer, 200 + to));
            }
        }
    });
}

// 1000 bytes are 1024 with what makes slices end at cache lines.
TEST(NodeMail, takes_no_more_than_fits_into_a_slice) {
    ThreadTeams teams{make_topology({0, 0})};
    teams.run([](Team& team, Rendezvous&) {
        NodeMail mail{team, aggregators, 1000};
        mail.empty_own(0);
        EXPECT_EQ(mail.put(0, 0, 1000, 0).size(), 1000u);
        EXPECT_TRUE(mail.put(0, 1, 25, 0).empty());
        EXPECT_TRUE(mail.put(0, 1, 20, 5).empty());
        EXPECT_EQ(mail.put(0, 1, 20, 4).size(), 20u);
        EXPECT_TRUE(mail.put(0, 2, 1, 0).empty());
        EXPECT_TRUE(mail.block(0, mail.local_index(), 2).bytes.empty());
        mail.empty_own(0);
        EXPECT_EQ(mail.put(0, 2, 1, 1023).size(), 1u);
    });
}

TEST(NodeMail, is_not_there_where_a_node_has_no_memory_to_share) {
    ThreadTeams teams{make_topology({0, 0})};
    teams.no_node_memory = true;
    teams.run([](Team& team, Rendezvous&) {
        EXPECT_FALSE((NodeMail{team, aggregators, 1000}.there()));
    });
}

TEST(NodeMailContract, there_is_one_block_for_an_aggregator) {
    ThreadTeams teams{make_topology({0})};
    teams.run([](Team& team, Rendezvous&) {
        NodeMail mail{team, aggregators, 1000};
        mail.empty_own(0);
        mail.put(0, 1, 10, 0);
        EXPECT_CONTRACT(mail.put(0, 1, 10, 0), "block_bytes == 0");
        EXPECT_CONTRACT(mail.put(0, aggregators, 10, 0), "aggregator");
        EXPECT_CONTRACT(mail.shorten_answer(0, 0, 1, 1), "answer_bytes");
    });
}

}  // namespace
}  // namespace unisono
