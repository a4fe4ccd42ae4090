#include "exchange/view_directory.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "access/copy.hpp"
#include "execute/thread_team.hpp"
#include "support/expect_contract.hpp"
#include "unisono/realm.hpp"

namespace unisono {
namespace {

using Pieces = std::vector<Extent>;

Pieces pieces_of(Tiling const& tiling, Positions positions) {
    Pieces pieces;
    walk(tiling, positions, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        pieces.push_back({begin, begin + bytes});
    });
    return pieces;
}

ShapePtr random_shape(std::mt19937_64& engine) {
    auto const below = [&](std::uint64_t limit) { return engine() % limit; };
    std::vector<std::int64_t> offsets;
    std::vector<ShapePtr> children;
    std::int64_t at = 0;
    for (auto n = 1 + below(4); n > 0; --n) {
        at += static_cast<std::int64_t>(below(30));
        offsets.push_back(at);
        auto const child = make_dense(1 + below(9));
        children.push_back(below(2) == 0 ? child : make_repeat(1 + below(3), 11, child));
        at += children.back()->high;
    }
    auto const list = make_list(offsets, children);
    return make_shifted(make_repeat(1 + below(3), at + 5, list),
                        static_cast<std::int64_t>(below(100)));
}

// One collective call: every rank's interval is known to all, as the executor has it.
std::vector<ViewInterval> gathered(Team& team, ViewInterval const& mine) {
    return team.gather_values(std::span{&mine, 1});
}

TEST(ViewKey, is_that_of_the_content_displacement_apart) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 one{seed};
        std::mt19937_64 same{seed};
        auto const shape = random_shape(one);
        EXPECT_EQ(key_of(*shape), key_of(*random_shape(same)));
        EXPECT_EQ(key_of(*shape), key_of(*make_shifted(shape, 12345)));
    }
}

TEST(ViewKey, differs_where_shapes_do) {
    std::vector<std::int64_t> const near{0, 10, 20};
    std::vector<std::int64_t> const far{0, 10, 21};
    std::vector<std::uint64_t> const lengths{1, 2, 3};
    std::vector<std::uint64_t> const others{1, 3, 2};
    auto const child = make_blocks(near, lengths);
    std::vector<ShapePtr> const shapes{make_dense(8),
                                       make_dense(9),
                                       make_repeat(8, 2, make_dense(1)),
                                       make_repeat(4, 2, make_dense(1)),
                                       make_repeat(8, 3, make_dense(1)),
                                       make_repeat(4, 4, make_dense(2)),
                                       child,
                                       make_blocks(far, lengths),
                                       make_blocks(near, others),
                                       make_repeat(2, 40, child),
                                       make_repeat(2, 40, make_repeat(3, 10, make_dense(2)))};
    std::set<ViewKey> keys;
    for (auto const& shape : shapes) keys.insert(key_of(*shape));
    EXPECT_EQ(keys.size(), shapes.size());
}

TEST(ViewDirectory, has_nothing_to_say_of_a_rank_that_asks_for_nothing) {
    ViewDirectory directory;
    auto const interval = directory.interval_of({make_dense(8), 100, 16}, {5, 5});
    EXPECT_TRUE(interval.positions.empty());
    EXPECT_EQ(interval.view, ViewKey{});
}

TEST(ViewDirectory, tells_aggregators_every_ranks_view_once) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        auto const below = [&](std::uint64_t limit) { return engine() % limit; };
        std::vector<std::uint32_t> labels(1 + below(7));
        for (auto& label : labels) label = static_cast<std::uint32_t>(below(4));
        auto const ranks = static_cast<std::uint32_t>(labels.size());
        std::vector<std::uint32_t> aggregators;
        for (auto n = 1 + below(4); n > 0; --n)
            aggregators.push_back(static_cast<std::uint32_t>(below(ranks)));  // some twice
        constexpr int calls = 4;
        std::vector<std::vector<Realm>> asked(calls);
        std::vector<ShapePtr> views;
        for (int i = 0; i < 3; ++i) views.push_back(random_shape(engine));
        for (auto& call : asked)
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                auto const& shape = views[below(views.size())];
                Tiling const view{shape, static_cast<std::int64_t>(below(500)), shape->high + 7};
                auto const begin = below(50);
                call.push_back({view, {begin, begin + (below(4) == 0 ? 0 : below(90))}});
            }
        ThreadTeams teams{make_topology(labels)};
        std::atomic<int> looked_at = 0;
        teams.run([&](Team& team, Rendezvous&) {
            ViewDirectory directory;
            auto const aggregates =
                std::find(aggregators.begin(), aggregators.end(), team.rank()) != aggregators.end();
            for (int call = 0; call < 2 * calls; ++call) {
                auto const& requests = asked[static_cast<std::size_t>(call % calls)];
                auto const& mine = requests[team.rank()];
                auto const before = team.traffic().messages;
                auto const intervals =
                    gathered(team, directory.interval_of(mine.tiling, mine.positions));
                directory.learn(team, aggregators, intervals, mine.tiling.shape);
                if (call >= calls) {
                    EXPECT_EQ(team.traffic().messages, before) << "known already";
                }
                if (!aggregates) continue;
                for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                    if (requests[rank].empty()) continue;
                    auto const view = directory.tiling(intervals[rank]);
                    EXPECT_EQ(pieces_of(view, intervals[rank].positions),
                              pieces_of(requests[rank].tiling, requests[rank].positions));
                    ++looked_at;
                }
            }
        });
        EXPECT_GT(looked_at, 0);
    }
}

TEST(ViewDirectory, forgets_when_there_are_very_many_views_and_learns_again) {
    ThreadTeams teams{make_topology({0, 1})};
    teams.run([&](Team& team, Rendezvous&) {
        ViewDirectory directory;
        std::vector<std::uint32_t> const aggregators{1};
        for (std::uint64_t i = 0; i < 4200; ++i) {
            Tiling const view{make_dense(1 + i), 0, 5000};
            auto const intervals = gathered(team, directory.interval_of(view, {0, 1 + i}));
            directory.learn(team, aggregators, intervals, view.shape);
            if (team.rank() == 1) {
                ASSERT_EQ(directory.tiling(intervals[0]).shape->bytes, 1 + i);
            }
        }
    });
}

TEST(ViewDirectoryContract, only_aggregators_know_views) {
    ThreadTeams teams{make_topology({0, 1})};
    std::atomic<int> asked = 0;
    ViewDirectory bystander;
    ViewInterval interval;
    teams.run([&](Team& team, Rendezvous&) {
        ViewDirectory directory;
        std::vector<std::uint32_t> const aggregators{1};
        Tiling const view{make_dense(8), 0, 16};
        auto const intervals = gathered(team, directory.interval_of(view, {0, 8}));
        directory.learn(team, aggregators, intervals, view.shape);
        if (team.rank() != 0) return;
        bystander = directory;
        interval = intervals[0];
        ++asked;
    });
    ASSERT_EQ(asked, 1);
    EXPECT_CONTRACT(static_cast<void>(bystander.tiling(interval)), "known_");
}

}  // namespace
}  // namespace unisono
