#include "exchange/relayed_team.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace unisono {
namespace {

using Channel = RelayedMail::Channel;

/// Carries between all mailboxes, late and bunched, as a program does that seldom calls.
class Postman {
public:
    explicit Postman(std::vector<std::unique_ptr<RelayedMail>>& mail)
        : mail_{mail}, thread_{[this](std::stop_token const& stop) {
              while (!stop.stop_requested()) {
                  std::this_thread::sleep_for(std::chrono::microseconds{50});
                  go_round();
              }
          }} {}
    [[nodiscard]] std::size_t carried() const { return carried_; }

private:
    void go_round() {
        for (std::uint32_t from = 0; from < mail_.size(); ++from)
            while (auto letter = mail_[from]->collect()) {
                auto const to = std::exchange(letter->rank, from);
                mail_[to]->deliver(std::move(*letter));
                mail_[from]->note_left();
                ++carried_;
            }
    }
    std::vector<std::unique_ptr<RelayedMail>>& mail_;
    std::atomic<std::size_t> carried_ = 0;
    std::jthread thread_;
};

// Every rank is a thread; its node's secret is the number of the node.
std::size_t on_nodes(std::vector<std::uint32_t> const& node_of,
                     std::function<void(RelayedTeam&)> const& body) {
    static std::atomic<std::uint64_t> teams = 0;  // names are the whole machine's
    auto const number = ++teams;
    std::vector<std::unique_ptr<RelayedMail>> mail;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank)
        mail.push_back(std::make_unique<RelayedMail>());
    Postman const postman{mail};
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < node_of.size(); ++rank)
        threads.emplace_back([&, rank] {
            NodeTeam::Name const name{(static_cast<std::uint64_t>(getpid()) << 20) + number,
                                      0xbeef + node_of[rank]};
            RelayedTeam team{name, make_topology(node_of), rank, *mail[rank], [] {}};
            body(team);
            team.finish_sends();
        });
    threads.clear();
    return postman.carried();
}

std::vector<std::vector<std::uint32_t>> const spreads{
    {0, 1}, {0, 0, 1}, {0, 1, 0, 1, 1}, {0, 1, 2}, {0, 1, 2, 3, 4, 5, 6}, {0, 0, 1, 2, 2, 3, 4, 4}};

// MPI counts bytes by an int: letters of 2 GiB, of windows as large, ended the program.
TEST(RelayedMail, carries_long_letters_in_parts_that_arrive_as_one) {
    constexpr std::size_t part = 10;
    RelayedMail from{part}, to{part};
    std::size_t const lengths[] = {0, 9, 10, 11, 20, 35};
    for (auto const channel : {Channel::data, Channel::answer})
        for (auto const bytes : lengths) from.send({1, channel, Message(bytes, std::byte(bytes))});
    std::size_t parts = 0;
    for (; auto letter = from.collect(); ++parts) {
        EXPECT_EQ(letter->rank, 1U);
        EXPECT_LE(letter->message.size(), part);
        letter->rank = 0;
        to.deliver({2, letter->channel, letter->message});  // other ranks' come in between
        to.deliver(std::move(*letter));
        from.note_left();
    }
    EXPECT_EQ(parts, 2 * (1 + 1 + 2 + 2 + 3 + 4));
    EXPECT_EQ(from.unsent(), 0U);
    for (auto const channel : {Channel::data, Channel::answer})
        for (std::uint32_t const rank : {0U, 2U})
            for (auto const bytes : lengths) {
                auto const letter = to.take(channel, rank);
                ASSERT_TRUE(letter);
                EXPECT_EQ(letter->message, Message(bytes, std::byte(bytes)));
            }
    EXPECT_FALSE(to.take(Channel::data, {}));
}

TEST(RelayedTeam, gathers_and_reduces_over_all_ranks) {
    for (auto const& nodes : spreads) {
        SCOPED_TRACE(testing::PrintToString(nodes));
        auto const ranks = nodes.size();
        on_nodes(nodes, [&](RelayedTeam& team) {
            for (std::size_t const count : {1UL, 3UL, 700UL}) {
                std::vector<std::uint64_t> mine(count), bits(count), ones(count, 1), here(count, 1);
                for (std::size_t i = 0; i < count; ++i) {
                    mine[i] = i * 10 + (team.rank() + i) % ranks;
                    bits[i] = std::uint64_t{1} << team.rank();
                }
                auto const all = team.gather_values(std::span<std::uint64_t const>{mine});
                for (std::size_t rank = 0; rank < ranks; ++rank)
                    for (std::size_t i = 0; i < count; ++i)
                        EXPECT_EQ(all[rank * count + i], i * 10 + (rank + i) % ranks);
                team.minimum(mine);
                team.unite(bits, Team::Among::all);
                team.sum(ones, Team::Among::all);
                team.sum(here, Team::Among::node);
                auto const node = team.topology().node_of[team.rank()];
                for (std::size_t i = 0; i < count; ++i) {
                    EXPECT_EQ(mine[i], i * 10);
                    EXPECT_EQ(bits[i], (std::uint64_t{1} << ranks) - 1);
                    EXPECT_EQ(ones[i], ranks);
                    EXPECT_EQ(here[i], team.topology().ranks_of[node].size());
                }
            }
        });
    }
}

// The verdict of the lowest rank that failed wins, so the order of nodes shows.
TEST(RelayedTeam, meetings_merge_in_the_order_of_ranks) {
    for (auto const& nodes : spreads) {
        SCOPED_TRACE(testing::PrintToString(nodes));
        on_nodes(nodes, [&](RelayedTeam& team) {
            for (std::uint32_t round = 0; round < 20; ++round) {
                Verdict verdict;
                verdict.lost_bytes = team.rank() + 1;
                team.rendezvous().meet(verdict);
                auto const ranks = team.topology().ranks();
                EXPECT_EQ(verdict.lost_bytes, ranks * (ranks + 1) / 2);
            }
        });
    }
}

TEST(RelayedTeam, all_get_what_rank_0_has) {
    on_nodes({0, 0, 1, 2, 2}, [](RelayedTeam& team) {
        for (std::size_t const bytes : {0UL, 1UL, 5000UL}) {
            std::vector<std::byte> const whole(bytes, std::byte{42});
            EXPECT_EQ(team.from_rank_0(team.rank() == 0 ? whole : std::vector<std::byte>(7)),
                      whole);
        }
        team.learn_nodes("node of " + std::to_string(team.rank()));
        EXPECT_EQ(team.topology().names,
                  (std::vector<std::string>{"node of 0", "node of 2", "node of 3"}));
    });
}

TEST(RelayedTeam, messages_of_a_kind_come_in_order_and_by_their_sender) {
    auto const carried = on_nodes({0, 0, 1, 1}, [](RelayedTeam& team) {
        for (std::uint32_t i = 0; i < 50; ++i)
            for (std::uint32_t to = 0; to < 4; ++to) {
                team.send(to, Team::Kind::data, Message(i, std::byte(team.rank())));
                team.send(to, Team::Kind::turn, {});
            }
        for (std::uint32_t from = 4; from-- > 0;)
            for (std::uint32_t i = 0; i < 50; ++i) {
                EXPECT_EQ(team.receive(from, Team::Kind::data), Message(i, std::byte(from)));
                EXPECT_TRUE(team.receive(from, Team::Kind::turn).empty());
            }
        EXPECT_FALSE(team.receive_any(Team::Kind::data));
    });
    EXPECT_EQ(carried, 4 * 50 * (4 + 2)) << "turns on a node are no messages";
}

TEST(RelayedTeam, what_has_been_sent_is_known_to_have_left) {
    std::atomic<bool> left = false;
    on_nodes({0, 1}, [&](RelayedTeam& team) {
        if (team.rank() == 0) {
            team.send(1, Team::Kind::data, Message(100));
            team.finish_sends();
            left = true;
        } else {
            EXPECT_EQ(team.receive(0, Team::Kind::data).size(), 100U);
        }
    });
    EXPECT_TRUE(left);
}

}  // namespace
}  // namespace unisono
