#include "execute/staged/node_windows.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "execute/thread_team.hpp"
#include "support/expect_contract.hpp"

namespace unisono {
namespace {

// One window of a node, as one of its ranks sees it.
struct Seen {
    std::size_t aggregator;
    int side;
};

std::vector<Seen> windows_here(Team const& team, std::vector<std::uint32_t> const& aggregators,
                               int sides) {
    auto const& node_of = team.topology().node_of;
    std::vector<Seen> seen;
    for (std::size_t i = 0; i < aggregators.size(); ++i)
        for (int side = 0; side < sides; ++side)
            if (node_of[aggregators[i]] == node_of[team.rank()]) seen.push_back({i, side});
    return seen;
}

// The node's lowest rank fills all windows, each with something else; then all look at them.
void fill_and_look(Team& team, Rendezvous& rendezvous, NodeWindows const& windows,
                   std::vector<Seen> const& here, std::uint64_t window_bytes) {
    auto const node = team.topology().node_of[team.rank()];
    auto const leader = team.rank() == team.topology().ranks_of[node].front();
    auto const fill_of = [&](Seen const& seen) {
        return static_cast<int>(1 + 16 * node + 2 * seen.aggregator) + seen.side;
    };
    if (leader || !windows.shared())
        for (auto const& seen : here) {
            std::memset(windows.data(seen.aggregator, seen.side), fill_of(seen), window_bytes);
            windows.valid_bytes(seen.aggregator, seen.side) = static_cast<unsigned>(fill_of(seen));
            auto covered = windows.coverage(seen.aggregator, seen.side);
            Coverage::Marker{covered}.mark(0, static_cast<unsigned>(fill_of(seen)));
        }
    rendezvous.barrier();
    for (auto const& seen : here) {
        auto const* const data = windows.data(seen.aggregator, seen.side);
        auto const fill = static_cast<std::byte>(fill_of(seen));
        EXPECT_EQ(std::count(data, data + window_bytes, fill), static_cast<long>(window_bytes));
        EXPECT_EQ(windows.valid_bytes(seen.aggregator, seen.side),
                  static_cast<unsigned>(fill_of(seen)));
    }
    rendezvous.barrier();
    if (!leader && windows.shared()) return;
    for (auto const& seen : here) {
        auto covered = windows.coverage(seen.aggregator, seen.side);
        EXPECT_EQ(covered.take(window_bytes),
                  (std::vector<BufferRange>{{0, static_cast<unsigned>(fill_of(seen))}}));
        EXPECT_TRUE(covered.take(window_bytes).empty());
    }
}

TEST(NodeWindows, are_the_nodes_own_and_apart_from_each_other) {
    for (auto const& labels :
         std::vector<std::vector<std::uint32_t>>{{0}, {0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 2, 2}})
        for (auto const shared : {true, false}) {
            SCOPED_TRACE(testing::PrintToString(labels) + (shared ? " shared" : ""));
            std::vector<std::uint32_t> aggregators{0};
            for (std::uint32_t rank = 0; rank < labels.size(); rank += 2)
                aggregators.push_back(rank);
            ThreadTeams teams{make_topology(labels)};
            teams.no_node_memory = !shared;
            teams.run([&](Team& team, Rendezvous& rendezvous) {
                // The second time there is memory already, of other windows.
                for (auto const window_bytes : {1000U, 100U}) {
                    NodeWindows const windows{team, aggregators, window_bytes, 2, 1};
                    auto const here = windows_here(team, aggregators, 2);
                    EXPECT_EQ(windows.shared(), shared || here.empty());
                    EXPECT_FALSE(windows.missing());
                    for (auto const& seen : here) {
                        auto const* data = windows.data(seen.aggregator, seen.side);
                        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
                    }
                    fill_and_look(team, rendezvous, windows, here, window_bytes);
                    rendezvous.barrier();
                }
            });
        }
}

// FUSE took a request for each 256 pages, so a window of 1 MiB was read in two.
TEST(NodeWindows, of_1_MiB_lay_in_257_pages) {
    constexpr std::uint64_t window_bytes = 1 << 20;
    for (auto const shared : {true, false}) {
        ThreadTeams teams{make_topology({0, 0})};
        teams.no_node_memory = !shared;
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            NodeWindows const windows{team, {0, 1}, window_bytes, 2, 1};
            auto const here = windows_here(team, {0, 1}, 2);
            auto const* const first = shared ? windows.data(0, 0) : nullptr;  // where a page begins
            for (auto const& seen : here)
                EXPECT_EQ((windows.data(seen.aggregator, seen.side) - first) % (64 << 10), 0);
            fill_and_look(team, rendezvous, windows, here, window_bytes);
        });
    }
}

// Sanitizers end the process instead.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(NodeWindows, are_missing_where_there_is_no_memory_at_all) {
    ThreadTeams teams{make_topology({0, 1})};
    teams.no_node_memory = true;
    teams.run([&](Team& team, Rendezvous&) {
        NodeWindows const windows{team, {1}, std::uint64_t{1} << 56, 1, 1};
        EXPECT_EQ(windows.missing(), team.rank() == 1) << "rank 0 needs none";
    });
}
#endif

TEST(NodeWindowsContract, other_nodes_windows_are_not_here) {
    ThreadTeams teams{make_topology({0})};
    teams.run([&](Team& team, Rendezvous&) {
        NodeWindows const windows{team, {0}, 64, 1, 1};
        EXPECT_CONTRACT(static_cast<void>(windows.data(1, 0)), "aggregator");
        EXPECT_CONTRACT(static_cast<void>(windows.data(0, 1)), "side");
    });
}

}  // namespace
}  // namespace unisono
