#include "execute/checks.hpp"

#include <gtest/gtest.h>

#include <map>

#include "execute/collective_cases.hpp"
#include "strategies/plugins.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t bytes_each = 1000;

/// Three ranks on two nodes write blocks of 10 bytes in turn, each with what it was told.
struct CheckedCall {
    struct Rank {
        Options options;
        Layout layout;
        Direction direction = Direction::write;
        std::uint64_t etype_bytes = 1;
    };

    explicit CheckedCall(std::string const& strategy, std::string const& check) {
        for (auto& rank : ranks) {
            rank.options.strategy = strategy;
            rank.options.check = check;
        }
    }

    std::vector<Outcome> perform() {
        std::vector<Outcome> outcomes(ranks.size());
        ThreadTeams teams{make_topology({0, 0, 1})};
        teams.run([&](Team& team, Rendezvous& rendezvous) {
            auto const me = team.rank();
            std::vector<std::byte> data(bytes_each, written(me, 0));
            Storage storage;
            storage.descriptor = file.descriptor();
            storage.backend = make_posix_backend(storage.descriptor);
            Request const request{.direction = ranks[me].direction,
                                  .view = {make_dense(10), 10 * std::int64_t(me), 30},
                                  .positions = {0, bytes_each},
                                  .memory = {make_dense(1), 0, 1},
                                  .base = reinterpret_cast<std::uintptr_t>(data.data()),
                                  .etype_bytes = ranks[me].etype_bytes};
            CallRecord record;
            OnlineTuner tuner;
            GatheredFacts gathered;
            try {
                outcomes[me] = perform_collective({team, rendezvous, storage, ranks[me].layout,
                                                   ranks[me].options, tuner, gathered},
                                                  request, {}, record);
            } catch (std::exception const& thrown) {
                outcomes[me].fault = thrown.what();
            }
        });
        return outcomes;
    }

    // Empty: all is there. Else what is wrong.
    [[nodiscard]] std::string look() const {
        auto const contents = file.contents();
        if (contents.size() != 3 * bytes_each) return std::to_string(contents.size()) + " bytes";
        for (std::size_t i = 0; i < contents.size(); ++i)
            if (contents[i] != written(std::uint32_t(i / 10 % 3), 0))
                return "byte " + std::to_string(i);
        return {};
    }

    std::array<Rank, 3> ranks;
    TemporaryFile file;
};

void load_bad_plans() {
    if (find_strategy("bad_plans") != nullptr) return;
    ASSERT_EQ(load_plugins(BAD_PLANS), std::vector<std::string>{});
}

// With what is to be said, by kind of plan: `look` at a call for which the plug-in makes such one.
template <class Look>
void try_bad_plans(std::map<std::string, std::string> const& kinds, Look&& look) {
    load_bad_plans();
    for (auto const& [kind, said] : kinds) {
        SCOPED_TRACE(kind);
        setenv("UNISONO_BAD_PLAN", kind.c_str(), 1);
        CheckedCall call{"bad_plans", "none"};
        look(call, said);
    }
    unsetenv("UNISONO_BAD_PLAN");
}

TEST(Checks, wrong_plans_of_a_plug_in_give_way_to_the_rule_and_say_why) {
    std::map<std::string, std::string> const faults{
        {"overlap", "realms of aggregators 0 and 1 overlap at byte 1499"},
        {"hole", "byte 1499 is in no realm"},
        {"beyond",
         "the realm of aggregator 1 has bytes 1500 to 3001, but only 0 to 3000 are touched"},
        {"descending", "the realm of aggregator 1 does not ascend"},
        {"rank", "aggregator 1 is rank 3 of 3"},
        {"realms", "2 aggregators have 1 realms"},
        {"window", "its windows have no bytes"},
        {"turns", "rank 0 waits for itself by way of rank 1"},
        {"blocks", "its blocks have 0 bytes"},
        {"way", "its way is number 77"},
    };
    try_bad_plans(faults, [](CheckedCall& call, std::string const& fault) {
        for (auto const& outcome : call.perform()) {
            EXPECT_EQ(outcome.strategy, "two_phase");
            EXPECT_EQ(outcome.refusal_of_strategy, "its plan is wrong: " + fault);
            EXPECT_EQ(outcome.fault, "");
            EXPECT_EQ(outcome.bytes, bytes_each);
        }
        EXPECT_EQ(call.look(), "");
    });
}

// Who throws a number ended the program without a word about the plug-in.
TEST(Checks, what_a_plug_in_throws_names_it) {
    std::map<std::string, std::string> const thrown{
        {"throws", "strategy bad_plans: no plan today"},
        {"throws_a_number", "strategy bad_plans: it threw what is no std::exception"},
    };
    try_bad_plans(thrown, [](CheckedCall& call, std::string const& said) {
        for (auto const& outcome : call.perform()) EXPECT_EQ(outcome.fault, said);
    });
}

TEST(Checks, right_plans_of_a_plug_in_are_performed) {
    load_bad_plans();
    for (auto const* check : {"none", "plans", "communicate"}) {
        CheckedCall call{"bad_plans", check};
        for (auto const& outcome : call.perform()) EXPECT_EQ(outcome.strategy, "bad_plans");
        EXPECT_EQ(call.look(), "");
    }
}

TEST(Checks, a_wrong_plan_of_our_own_is_our_mistake) {
    auto const topology = make_topology({0, 0});
    Facts const facts{.topology = &topology, .touched = {0, 100}, .bytes = 100};
    Plan const wrong{.way = Plan::Way::staged};
    EXPECT_EQ(refuse_plan({}, facts, two_phase, wrong), "") << "nobody looks";
    Options options;
    options.check = "plans";
    try {
        static_cast<void>(refuse_plan(options, facts, two_phase, wrong));
        FAIL();
    } catch (CheckFailed const& failed) {
        EXPECT_STREQ(failed.what(),
                     "UNISONO_CHECK: the plan of two_phase is wrong: it has no aggregators");
    }
}

// What every rank says when one of them has something else.
template <class Change>
std::string said_when(std::uint32_t rank, Change&& change) {
    CheckedCall call{"two_phase", "communicate"};
    call.file.fill({});
    change(call.ranks[rank]);
    auto const outcomes = call.perform();
    for (auto const& outcome : outcomes) {
        EXPECT_EQ(outcome.fault, outcomes[0].fault);
        EXPECT_EQ(outcome.bytes, 0u);
    }
    EXPECT_EQ(call.file.contents().size(), 0u) << "nothing was written";
    return outcomes[0].fault;
}

TEST(Checks, ranks_that_communicate_say_who_differs_in_what) {
    using Rank = CheckedCall::Rank;
    EXPECT_EQ(said_when(2, [](Rank& rank) { rank.options.cb_nodes = 1; }),
              "UNISONO_CHECK: rank 2 differs from rank 0 in its options");
    EXPECT_EQ(said_when(0, [](Rank& rank) { rank.options.cb_nodes = 1; }),
              "UNISONO_CHECK: rank 1 differs from rank 0 in its options");
    EXPECT_EQ(said_when(1, [](Rank& rank) { rank.direction = Direction::read; }),
              "UNISONO_CHECK: rank 1 differs from rank 0 in the direction of the call");
    EXPECT_EQ(said_when(1, [](Rank& rank) { rank.etype_bytes = 8; }),
              "UNISONO_CHECK: rank 1 differs from rank 0 in the size of its view's etype");
    EXPECT_EQ(said_when(1,
                        [](Rank& rank) {
                            rank.layout = Layout::of("test", {Striping::round_robin(64, {0, 1})});
                        }),
              "UNISONO_CHECK: rank 1 differs from rank 0 in the layout of the file");
}

// They hung, or mixed up data, unless UNISONO_CHECK=communicate was set.
TEST(Checks, ranks_for_which_a_plug_in_plans_differently_say_so) {
    std::map<std::string, std::string> const differences{
        {"different", "realm 0 of the plan"},
        {"different_ways", "the way of the plan"},
        {"unfit_for_some", "the strategy"},
        {"different_cells", "what the strategy gathers"},
    };
    try_bad_plans(differences, [](CheckedCall& call, std::string const& difference) {
        call.file.fill({});
        auto const outcomes = call.perform();
        auto const& said = outcomes[0].fault;
        for (auto const& outcome : outcomes) EXPECT_EQ(outcome.fault, said);
        auto const who = "strategy bad_plans: rank " +
                         std::string{said.find("rank 1") < said.size() ? "1" : "2"};
        EXPECT_EQ(said, who + " differs from rank 0 in " + difference);
        EXPECT_EQ(call.file.contents().size(), 0u);
    });
}

TEST(Checks, ranks_that_call_alike_notice_nothing) {
    for (auto const* strategy : all_strategies()) {
        if (is_plugin(*strategy) || strategy == &native || strategy == &view_based) continue;
        SCOPED_TRACE(strategy->name);
        CheckedCall call{std::string{strategy->name}, "communicate"};
        for (auto& rank : call.ranks)
            rank.layout = Layout::of("test", {Striping::round_robin(64, {0, 1})});
        for (auto const& outcome : call.perform()) {
            EXPECT_EQ(outcome.fault, "");
            EXPECT_EQ(outcome.bytes, bytes_each);
        }
        EXPECT_EQ(call.look(), "");
    }
}

}  // namespace
}  // namespace unisono
