#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

#include "access/copy.hpp"
#include "strategies/check_plan.hpp"
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

// What a rank may ask for as far as the facts tell; see check_plan.hpp.
Realm known_request(Facts const& facts, std::uint32_t rank) {
    auto const touched = facts.ranks[rank].touched;
    if (facts.ranks[rank].bytes == 0 || facts.loops.empty()) return contiguous_realm(touched);
    auto shape = make_dense(facts.loops.piece_bytes);
    for (auto const& [count, stride] : facts.loops.loops)
        shape = make_repeat(count, static_cast<std::int64_t>(stride), shape);
    return {{shape, static_cast<std::int64_t>(touched.begin), shape->high}, {0, shape->bytes}};
}

// What Plan promises of a staged call, looked at byte by byte: the plain way, for what check_plan
// finds in a clever one.
bool keeps_its_word_byte_by_byte(Facts const& facts, Plan const& plan) {
    if (plan.way != Plan::Way::staged) return true;
    // Within nodes each node has realms of its own; else all are one group.
    auto const group_of = [&](std::uint32_t rank) {
        return plan.within_nodes ? facts.topology->node_of[rank] : 0;
    };
    std::map<std::pair<std::uint32_t, std::uint64_t>, int> owners;
    bool right = true;
    for (std::size_t i = 0; i < plan.realms.size(); ++i)
        for_each_byte(plan.realms[i], [&](auto offset) {
            right &= ++owners[std::pair(group_of(plan.aggregators[i]), offset)] == 1;
            right &= facts.touched.begin <= offset && offset < facts.touched.end;
        });
    for (std::uint32_t rank = 0; rank < facts.ranks.size(); ++rank)
        for_each_byte(known_request(facts, rank), [&](auto offset) {
            right &= owners.contains(std::pair(group_of(rank), offset));
        });
    return right;
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
            use(scene, known.facts, *strategy, strategy->plan(known.facts, scene.options));
        }
    }
    if (end - first > 1) {
        EXPECT_EQ(plans.size(), all_strategies().size());
    }
}

TEST(EveryStrategy, has_plans_that_pass_their_check) {
    for_each_plan([](Scene const&, Facts const& facts, Strategy const&, Plan const& plan) {
        EXPECT_EQ(check_plan(facts, plan), "");
        EXPECT_TRUE(keeps_its_word_byte_by_byte(facts, plan));
    });
}

// Something in a plan as it should not be, more or less.
void spoil(Plan& plan, std::mt19937_64& engine) {
    auto const one = [&](auto& list) -> auto& { return list[engine() % list.size()]; };
    auto& realm = one(plan.realms);
    auto& positions = realm.positions;
    switch (engine() % 6) {
        case 0:
            if (!positions.empty()) --positions.end;
            break;
        case 1:
            ++positions.end;
            break;
        case 2:
            positions.begin += engine() % 20;
            break;
        case 3:
            realm = one(plan.realms);
            break;
        case 4:
            realm.tiling.origin += 1;
            break;
        default:
            one(plan.aggregators) = one(plan.aggregators);
    }
}

TEST(EveryStrategy, has_plans_whose_check_sees_what_is_wrong_with_them) {
    std::map<bool, int> judged;
    for_each_plan([&](Scene const&, Facts const& facts, Strategy const&, Plan const& good) {
        if (good.way != Plan::Way::staged || facts.bytes == 0) return;
        std::mt19937_64 engine{facts.bytes};
        auto plan = good;
        spoil(plan, engine);
        auto const fault = check_plan(facts, plan);
        auto const right = keeps_its_word_byte_by_byte(facts, plan);
        EXPECT_EQ(fault.empty(), right) << fault;
        ++judged[right];
    });
    if (judged[true] + judged[false] > 100) {
        EXPECT_GT(judged[true], 20);
        EXPECT_GT(judged[false], 20);
    }
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
