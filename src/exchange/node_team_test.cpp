#include "exchange/node_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "exchange/agreement.hpp"

namespace unisono {
namespace {

constexpr NodeTeam::Name secret{0x1234567890, 0x987654321};

// Every rank is a thread with memory mappings of its own.
void on_node(std::uint32_t ranks, std::function<void(NodeTeam&)> const& body,
             std::uint64_t number = 0) {
    static std::atomic<std::uint64_t> teams = 0;  // names are the whole machine's
    auto const name = NodeTeam::Name{secret.high + static_cast<std::uint64_t>(getpid()),
                                     secret.low + (number != 0 ? number : 1000 + ++teams)};
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&body, ranks, rank, name] {
            NodeTeam team{name, make_topology(std::vector<std::uint32_t>(ranks)), rank};
            body(team);
        });
}

TEST(NodeTeam, shares_memory_that_grows) {
    for (std::uint32_t const ranks : {1U, 2U, 5U})
        on_node(ranks, [&](NodeTeam& team) {
            for (std::size_t const bytes : {100UL, 5000UL, 300000UL}) {
                auto const memory = team.node_memory(Team::Area::windows, bytes * ranks);
                ASSERT_GE(memory.size(), bytes * ranks);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0U);
                std::memset(memory.data() + bytes * team.rank(), 1 + static_cast<int>(team.rank()),
                            bytes);
                team.rendezvous().barrier();
                for (std::uint32_t rank = 0; rank < ranks; ++rank)
                    EXPECT_EQ(memory[bytes * rank + bytes - 1], std::byte(1 + rank));
                team.rendezvous().barrier();
            }
        });
}

TEST(NodeTeam, own_memory_lives_as_long_as_it_is_held) {
    on_node(3, [](NodeTeam& team) {
        auto const first = team.own_node_memory(1000);
        auto const second = team.own_node_memory(1000);
        ASSERT_NE(first, nullptr);
        ASSERT_NE(second, nullptr);
        if (team.rank() == 0) (*first)[0] = std::byte{7};
        team.rendezvous().barrier();
        EXPECT_EQ((*first)[0], std::byte{7});
        EXPECT_EQ((*second)[0], std::byte{0});
        team.rendezvous().barrier();
    });
}

TEST(NodeTeam, reduces_values_of_any_length) {
    for (std::uint32_t const ranks : {1U, 4U})
        on_node(ranks, [&](NodeTeam& team) {
            for (std::size_t const count : {1UL, 3UL, 1000UL}) {
                std::vector<std::uint64_t> mine(count), bits(count), ones(count, 1);
                for (std::size_t i = 0; i < count; ++i) {
                    mine[i] = i * 10 + (team.rank() + i) % ranks;
                    bits[i] = std::uint64_t{1} << team.rank();
                }
                auto const all = team.gather_values(std::span<std::uint64_t const>{mine});
                for (std::uint32_t rank = 0; rank < ranks; ++rank)
                    for (std::size_t i = 0; i < count; ++i)
                        EXPECT_EQ(all[rank * count + i], i * 10 + (rank + i) % ranks);
                team.minimum(mine);
                team.unite(bits, Team::Among::all);
                team.sum(ones, Team::Among::all);
                for (std::size_t i = 0; i < count; ++i) {
                    EXPECT_EQ(mine[i], i * 10);
                    EXPECT_EQ(bits[i], (std::uint64_t{1} << ranks) - 1);
                    EXPECT_EQ(ones[i], ranks);
                }
            }
        });
}

TEST(NodeTeam, all_get_what_rank_0_has) {
    on_node(3, [](NodeTeam& team) {
        for (std::size_t const bytes : {0UL, 1UL, 5000UL}) {
            std::vector<std::byte> const whole(bytes, std::byte{42});
            EXPECT_EQ(team.from_rank_0(team.rank() == 0 ? whole : std::vector<std::byte>(7)),
                      whole);
        }
    });
}

TEST(NodeTeam, minimum_knows_the_largest_number) {
    on_node(2, [](NodeTeam& team) {
        std::uint64_t value = team.rank() == 0 ? IoResult::nowhere : 5;
        team.minimum({&value, 1});
        EXPECT_EQ(value, 5U);
    });
}

// More often than a counter of one byte can tell apart.
TEST(NodeTeam, ranks_take_turns) {
    constexpr std::uint32_t ranks = 3;
    std::atomic<int> turn = 0;
    on_node(ranks, [&](NodeTeam& team) {
        for (int call = 0; call < 300; ++call) {
            auto const me = team.rank();
            if (me > 0 || call > 0) team.receive((me + ranks - 1) % ranks, Team::Kind::turn);
            EXPECT_EQ(turn++, call * static_cast<int>(ranks) + static_cast<int>(me));
            team.send((me + 1) % ranks, Team::Kind::turn, {});
        }
    });
}

TEST(NodeTeam, several_teams_of_the_same_ranks_do_not_disturb_each_other) {
    std::vector<std::jthread> teams;
    for (std::uint64_t number = 1; number <= 4; ++number)
        teams.emplace_back([number] {
            on_node(
                3,
                [&](NodeTeam& team) {
                    auto const memory = team.node_memory(Team::Area::windows, 5000);
                    if (team.rank() == 2) memory[0] = std::byte(number);
                    team.rendezvous().barrier();
                    EXPECT_EQ(memory[0], std::byte(number));
                    team.rendezvous().barrier();
                },
                number);
        });
}

}  // namespace
}  // namespace unisono
