#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

#include "access/copy.hpp"
#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// Scenes made up from a seed; files of a few thousand bytes, so that every byte can be looked at.
class RandomScene {
public:
    explicit RandomScene(std::uint64_t seed) : engine_{seed} {}

    Scene make() {
        if (below(4) == 0) {
            auto scene = lattice(1 + below(50), {4, 6, 8}, {1 + below(2), 1 + below(3), 2});
            scene.layout = layout();
            return scene;
        }
        auto const ranks = static_cast<std::uint32_t>(1 + below(10));
        std::vector<std::uint32_t> labels(ranks);
        for (auto& label : labels) label = static_cast<std::uint32_t>(below(3));
        Scene scene{.topology = make_topology(labels), .layout = layout()};
        auto const in_order = below(3) == 0;
        std::uint64_t first = below(300);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            scene.requests.push_back(request(in_order ? first : below(300)));
            if (!scene.requests.back().empty()) first = touched(scene.requests.back()).end;
        }
        if (below(3) == 0) scene.options.cb_nodes = static_cast<std::uint32_t>(1 + below(30));
        if (below(3) == 0) scene.options.cb_config_list = "*:2";
        return scene;
    }

private:
    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    Layout layout() {
        std::vector<std::uint32_t> servers(2 * (1 + below(4)));
        std::iota(servers.begin(), servers.end(), 0);
        auto const unit = std::uint64_t{8} << below(6);
        switch (below(4)) {
            case 0:
                return Layout::of("test", {Striping::round_robin(unit, {0}, 3 * unit),
                                           Striping::round_robin(2 * unit, servers)});
            case 1:
                return Layout::of(
                    "test",
                    {{.unit = unit, .object_bytes = 3 * unit, .width = 2, .servers = servers}});
            default:
                return Layout::of("test", {Striping::round_robin(unit, servers)});
        }
    }

    Realm request(std::uint64_t first) {
        auto const bytes = 1 + below(30);
        auto const stride = bytes + below(60);
        return {{make_dense(bytes), static_cast<std::int64_t>(first),
                 static_cast<std::int64_t>(stride)},
                {0, below(5) == 0 ? 0 : below(300)}};
    }

    std::mt19937_64 engine_;
};

template <class Use>
void for_each_byte(Realm const& realm, Use&& use) {
    walk(realm.tiling, realm.positions, [&](std::int64_t offset, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; ++i) use(static_cast<std::uint64_t>(offset) + i);
    });
}

// Calls use(scene, facts, strategy, plan) for all strategies that fit, in 300 scenes.
// UNISONO_TEST_SEED=123 replays one.
template <class Use>
void for_each_plan(Use&& use) {
    std::uint64_t first = 0;
    std::uint64_t end = 300;
    if (auto const* one = std::getenv("UNISONO_TEST_SEED")) {
        first = std::strtoull(one, nullptr, 10);
        end = first + 1;
    }
    std::map<std::string_view, int> plans;
    for (auto seed = first; seed < end; ++seed) {
        auto const scene = RandomScene{seed}.make();
        SceneFacts const known{scene};
        for (auto const* strategy : all_strategies()) {
            SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string{strategy->name});
            if (!strategy->unfit(known.facts).empty()) continue;
            ++plans[strategy->name];
            use(scene, known.facts, *strategy, strategy->plan(known.facts));
        }
    }
    if (end - first > 1) {
        EXPECT_EQ(plans.size(), all_strategies().size());
    }
}

TEST(EveryStrategy, realms_are_disjoint_and_cover_what_is_asked_for) {
    for_each_plan([](Scene const& scene, Facts const& facts, Strategy const&, Plan const& plan) {
        if (plan.way != Plan::Way::staged) return;
        ASSERT_EQ(plan.aggregators.size(), plan.realms.size());
        EXPECT_GT(plan.window_bytes, 0u);
        // Within nodes each node has realms of its own; else all are one group.
        auto const group_of = [&](std::uint32_t rank) {
            return plan.within_nodes ? scene.topology.node_of[rank] : 0;
        };
        std::map<std::pair<std::uint32_t, std::uint64_t>, int> owners;
        for (std::size_t i = 0; i < plan.realms.size(); ++i) {
            ASSERT_LT(plan.aggregators[i], scene.topology.ranks());
            ASSERT_TRUE(plan.realms[i].tiling.ascending());
            for_each_byte(plan.realms[i], [&](auto offset) {
                ASSERT_EQ(++owners[std::pair(group_of(plan.aggregators[i]), offset)], 1);
                ASSERT_TRUE(facts.touched.begin <= offset && offset < facts.touched.end);
            });
        }
        for (std::uint32_t rank = 0; rank < scene.requests.size(); ++rank)
            for_each_byte(scene.requests[rank], [&](auto offset) {
                ASSERT_TRUE(owners.contains(std::pair(group_of(rank), offset)));
            });
    });
}

TEST(EveryStrategy, nobody_waits_in_a_circle) {
    for_each_plan([](Scene const& scene, Facts const&, Strategy const&, Plan const& plan) {
        if (plan.waits_for.empty()) return;
        ASSERT_EQ(plan.waits_for.size(), scene.requests.size());
        for (std::uint32_t rank = 0; rank < plan.waits_for.size(); ++rank)
            EXPECT_LE(plan.waits_for[rank], rank);
    });
}

// What disk_first, resonant and lacio are for: nobody meets another at a server, or only in another
// range of its object.
TEST(EveryStrategy, that_knows_servers_gives_each_realm_a_range_of_one_servers_object) {
    for_each_plan([](Scene const& scene, Facts const&, Strategy const& strategy, Plan const& plan) {
        auto const by_server = strategy.name == "disk_first" || strategy.name == "resonant" ||
                               strategy.name == "lacio";
        if (!by_server || plan.way != Plan::Way::staged) return;
        std::vector<std::uint64_t> done(scene.layout.servers());  // object bytes of realms so far
        std::vector<int> aggregators(scene.layout.servers());
        for (auto const& realm : plan.realms) {
            if (realm.empty()) continue;
            auto const server = scene.layout.server_of(touched(realm).begin);
            ++aggregators[server];
            for_each_byte(realm, [&](auto offset) {
                ASSERT_EQ(scene.layout.server_of(offset), server);
                ASSERT_GE(scene.layout.object_offset(offset), done[server]);
                done[server] = scene.layout.object_offset(offset) + 1;
            });
        }
        auto const most = *std::ranges::max_element(aggregators);
        EXPECT_TRUE(strategy.name != "disk_first" || most <= 1);
    });
}

TEST(EveryStrategy, has_a_plan_for_one_rank_and_for_ranks_that_ask_for_nothing) {
    auto nothing = interleaved(3, 2, 1);
    for (auto& request : nothing.requests) request.positions = {};
    for (auto const* strategy : all_strategies()) {
        SCOPED_TRACE(strategy->name);
        if (!unfit_for(*strategy, nothing).empty()) continue;
        for (auto const& realm : plan_for(*strategy, nothing).realms) EXPECT_TRUE(realm.empty());
        auto const plan = plan_for(*strategy, interleaved(1, 2, 4));
        for (auto const rank : plan.aggregators) EXPECT_EQ(rank, 0u);
    }
}

TEST(EveryStrategy, with_more_aggregators_than_bytes_some_own_nothing) {
    auto scene = interleaved(8, 2, 1);
    scene.requests = block_requests(1, {0, 1, 2, 3, 4, 0, 0, 0}, 1, 1);
    scene.options.cb_nodes = 8;
    for (auto const* strategy : {&two_phase, &lacio, &resonant, &disk_first}) {
        SCOPED_TRACE(strategy->name);
        auto const plan = plan_for(*strategy, scene);
        std::uint64_t bytes = 0;
        for (auto const& realm : plan.realms) bytes += realm.bytes();
        EXPECT_EQ(bytes, 5u);
    }
}

}  // namespace
}  // namespace unisono
