#include "strategies/check_plan.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "strategies/realms.hpp"
#include "strategies/test_scenes.hpp"

namespace unisono {
namespace {

// Four ranks on two nodes; what they touch.
struct Call {
    explicit Call(Extent touched) {
        facts.topology = &topology;
        facts.touched = touched;
        facts.bytes = touched.bytes();
    }
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    ~Call() = default;

    // And each of them alone.
    void gather(std::vector<Extent> const& touched) {
        for (auto const& range : touched) ranks.push_back({range, range.bytes()});
        facts.ranks = ranks;
    }

    Topology topology = make_topology({0, 0, 1, 1});
    std::vector<RankFacts> ranks;
    Facts facts;
};

Plan staged(std::vector<Realm> const& realms) {
    Plan plan{.way = Plan::Way::staged, .realms = realms, .window_bytes = 64};
    for (std::uint32_t i = 0; i < realms.size(); ++i) plan.aggregators.push_back(i % 4);
    return plan;
}

Plan in_turns(std::vector<std::uint32_t> const& waits_for) {
    return {.way = Plan::Way::direct, .waits_for = waits_for};
}

TEST(CheckPlan, finds_nothing_in_realms_that_share_out_what_is_touched) {
    Call const call{{100, 5000}};
    EXPECT_EQ(check_plan(call.facts, staged({contiguous_realm({100, 700}), contiguous_realm({}),
                                             Realm{}, contiguous_realm({700, 5000})})),
              "");
}

TEST(CheckPlan, names_realms_that_overlap_and_where) {
    Call const call{{0, 10000}};
    auto plan = staged({contiguous_realm({0, 2000}), contiguous_realm({2000, 4000}),
                        contiguous_realm({4000, 8000}), contiguous_realm({4096, 10000})});
    EXPECT_EQ(check_plan(call.facts, plan), "realms of aggregators 2 and 3 overlap at byte 4096");
}

TEST(CheckPlan, names_the_first_byte_that_nobody_owns) {
    Call const call{{0, 100}};
    EXPECT_EQ(
        check_plan(call.facts, staged({contiguous_realm({0, 40}), contiguous_realm({41, 100})})),
        "byte 40 is in no realm");
    EXPECT_EQ(check_plan(call.facts, staged({contiguous_realm({1, 100})})),
              "byte 0 is in no realm");
    EXPECT_EQ(check_plan(call.facts, staged({contiguous_realm({0, 99})})),
              "byte 99 is in no realm");
    EXPECT_EQ(check_plan(call.facts, staged({Realm{}})), "byte 0 is in no realm");
}

TEST(CheckPlan, needs_only_what_ranks_touch_to_be_owned_where_that_is_known) {
    Call call{{0, 100}};
    call.gather({{0, 10}, {5, 20}, {80, 90}, {90, 100}});
    auto const plan = staged({contiguous_realm({0, 20}), contiguous_realm({80, 100})});
    EXPECT_EQ(check_plan(call.facts, plan), "");
    EXPECT_EQ(
        check_plan(call.facts, staged({contiguous_realm({0, 20}), contiguous_realm({81, 100})})),
        "byte 80 is in no realm");
}

TEST(CheckPlan, needs_only_the_pieces_to_be_owned_where_ranks_ask_for_equal_loops) {
    Call call{{0, 86}};
    call.gather({{0, 14}, {4, 18}, {64, 78}, {72, 86}});
    call.facts.loops = {.piece_bytes = 4, .loops = {{.count = 2, .stride = 10}}};
    auto const plan = staged({striped_realm(0, 8, 10, {0, 18}), contiguous_realm({64, 86})});
    EXPECT_EQ(check_plan(call.facts, plan), "");
    auto const short_of_one =
        staged({striped_realm(0, 7, 10, {0, 18}), contiguous_realm({64, 86})});
    EXPECT_EQ(check_plan(call.facts, short_of_one), "byte 7 is in no realm");
}

TEST(CheckPlan, looks_at_each_nodes_realms_apart_where_these_take_their_own_nodes_data) {
    Call call{{0, 100}};
    call.gather({{0, 60}, {20, 70}, {50, 80}, {60, 100}});
    auto plan = staged({contiguous_realm({0, 70}), contiguous_realm({50, 100})});
    plan.aggregators = {1, 2};
    EXPECT_EQ(check_plan(call.facts, plan), "realms of aggregators 0 and 1 overlap at byte 50");
    plan.within_nodes = true;
    EXPECT_EQ(check_plan(call.facts, plan), "");
    plan.aggregators = {0, 1};
    EXPECT_EQ(check_plan(call.facts, plan), "realms of aggregators 0 and 1 overlap at byte 50");
    plan.realms = {contiguous_realm({0, 60}), contiguous_realm({60, 100})};
    EXPECT_EQ(check_plan(call.facts, plan), "byte 50 is in no realm of node 1");
}

// 2^40 stripes of 64 KiB on four servers: what is walked are some periods.
TEST(CheckPlan, sees_the_end_of_realms_that_have_very_many_pieces) {
    Call const call{{3, 1ULL << 56}};
    auto const server = [&](std::uint64_t i) {
        return striped_realm(i * block, block, 4 * block, call.facts.touched);
    };
    std::vector<Realm> const servers{server(0), server(1), server(2), server(3)};
    EXPECT_EQ(check_plan(call.facts, staged(servers)), "");

    auto short_by_one = servers;
    --short_by_one[3].positions.end;
    EXPECT_EQ(check_plan(call.facts, staged(short_by_one)),
              "byte 72057594037927935 is in no realm");

    auto twice = servers;
    twice[2].tiling.origin -= 1;
    EXPECT_EQ(check_plan(call.facts, staged(twice)),
              "realms of aggregators 1 and 2 overlap at byte 131071");

    // Halves of one server's object, with a byte in common in the middle.
    auto halves = servers;
    auto const middle = servers[1].positions.end / 2;
    halves.push_back(servers[1]);
    halves[1].positions.end = middle + 1;
    halves[4].positions.begin = middle;
    auto const fault = check_plan(call.facts, staged(halves));
    EXPECT_EQ(fault, "realms of aggregators 1 and 4 overlap at byte " +
                         std::to_string(offset_of(servers[1].tiling, middle)));
    --halves[1].positions.end;
    EXPECT_EQ(check_plan(call.facts, staged(halves)), "");
}

// Stripes of 64 and of 48 bytes: the first 48 of each 192 overlap, others are nobody's.
TEST(CheckPlan, looks_at_the_common_period_of_realms_with_different_ones) {
    Call const call{{0, 1ULL << 40}};
    auto const even = [&](std::uint64_t i) {
        return striped_realm(i * 64, 64, 128, call.facts.touched);
    };
    EXPECT_EQ(check_plan(call.facts, staged({even(0), even(1)})), "");
    EXPECT_EQ(
        check_plan(call.facts, staged({even(0), striped_realm(64, 128, 192, call.facts.touched)})),
        "realms of aggregators 0 and 1 overlap at byte 128");
}

// Irregular realms of too many pieces to be walked: bytes are still counted.
TEST(CheckPlan, counts_bytes_where_it_does_not_walk) {
    constexpr std::uint64_t pieces = 1 << 17;
    Call const call{{0, 2 * pieces}};
    std::vector<std::int64_t> even(pieces);
    for (std::uint64_t i = 0; i < pieces; ++i)
        even[i] = static_cast<std::int64_t>(2 * i + (i > 70000 && i % 7 == 0));
    std::vector<std::uint64_t> const ones(pieces, 1);
    auto const shape = make_blocks(even, ones);
    Realm const sparse{{shape, 0, shape->high}, {0, pieces}};
    EXPECT_EQ(check_plan(call.facts, staged({sparse, sparse, sparse})),
              "realms have 393216 bytes of 262144");
    EXPECT_EQ(check_plan(call.facts, staged({sparse})), "realms have 131072 bytes of 262144");
}

TEST(CheckPlan, names_a_realm_that_is_none) {
    Call const call{{100, 200}};
    auto const of = [&](Realm const& realm) { return check_plan(call.facts, staged({realm})); };
    EXPECT_EQ(of({{}, {0, 100}}), "the realm of aggregator 0 has no shape");
    EXPECT_EQ(of({{make_dense(0), 100, 10}, {0, 100}}), "the realm of aggregator 0 has no shape");
    EXPECT_EQ(of({{make_dense(10), 100, 5}, {0, 100}}),
              "the realm of aggregator 0 does not ascend");
    EXPECT_EQ(of({{make_dense(1), -1, 1}, {0, 201}}),
              "the realm of aggregator 0 reaches beyond any file");
    EXPECT_EQ(of({{make_dense(1), 100, 1LL << 62}, {0, 100}}),
              "the realm of aggregator 0 reaches beyond any file");
    EXPECT_EQ(of(contiguous_realm({100, 201})),
              "the realm of aggregator 0 has bytes 100 to 201, but only 100 to 200 are touched");
    EXPECT_EQ(of(contiguous_realm({99, 200})),
              "the realm of aggregator 0 has bytes 99 to 200, but only 100 to 200 are touched");
}

TEST(CheckPlan, names_aggregators_and_windows_that_cannot_be) {
    Call const call{{0, 100}};
    auto const good = staged({contiguous_realm({0, 100})});
    auto plan = good;
    plan.aggregators = {4};
    EXPECT_EQ(check_plan(call.facts, plan), "aggregator 0 is rank 4 of 4");
    plan.aggregators = {};
    EXPECT_EQ(check_plan(call.facts, plan), "it has no aggregators");
    plan.aggregators = {0, 1};
    EXPECT_EQ(check_plan(call.facts, plan), "2 aggregators have 1 realms");
    plan = good;
    plan.window_bytes = 0;
    EXPECT_EQ(check_plan(call.facts, plan), "its windows have no bytes");
}

TEST(CheckPlan, names_blocks_and_pools_that_cannot_be) {
    Call call{{0, 100}};
    call.facts.cacheable = true;
    Plan plan{.way = Plan::Way::cached, .aggregators = {1, 3}, .block_bytes = 64, .pool_bytes = 64};
    EXPECT_EQ(check_plan(call.facts, plan), "");
    plan.pool_bytes = 63;
    EXPECT_EQ(check_plan(call.facts, plan), "its pools of 63 bytes cannot hold a block of 64");
    plan.block_bytes = 0;
    EXPECT_EQ(check_plan(call.facts, plan), "its blocks have 0 bytes");
    plan.block_bytes = ~std::uint64_t{0};
    EXPECT_EQ(check_plan(call.facts, plan), "its blocks have 18446744073709551615 bytes");
    plan.aggregators = {1, 9};
    EXPECT_EQ(check_plan(call.facts, plan), "aggregator 1 is rank 9 of 4");
}

// The number of buffers wrapped round to 0, and calls ended the program.
TEST(CheckPlan, names_pools_that_are_more_than_can_be_counted) {
    Call call{{0, 100}};
    call.facts.cacheable = true;
    Plan const plan{.way = Plan::Way::cached,
                    .aggregators = {1, 3},
                    .block_bytes = 1,
                    .pool_bytes = std::uint64_t{1} << 63};
    EXPECT_EQ(check_plan(call.facts, plan), "its 2 pools have 9223372036854775808 bytes each");
}

// Some ranks have no buffers then, and do not come to where the others wait.
TEST(CheckPlan, sees_that_a_call_cannot_be_cached) {
    Call call{{0, 100}};
    Plan const plan{
        .way = Plan::Way::cached, .aggregators = {1, 3}, .block_bytes = 64, .pool_bytes = 64};
    EXPECT_EQ(check_plan(call.facts, plan), "some rank has no descriptor of the file");
    call.facts.cacheable = true;
    call.facts.page_cached = true;
    EXPECT_EQ(check_plan(call.facts, plan),
              "this file system writes whole pages back, and nodes may share one");
}

// Offsets were looked for in such views all the same, which ended the program.
TEST(CheckPlan, sees_that_views_do_not_ascend) {
    Call call{{0, 100}};
    call.facts.cacheable = true;
    call.facts.ascending = false;
    auto const* const why = "a view's tiles run into each other: offsets do not ascend";
    EXPECT_EQ(check_plan(call.facts, staged({contiguous_realm({0, 100})})), why);
    EXPECT_EQ(
        check_plan(
            call.facts,
            {.way = Plan::Way::cached, .aggregators = {0}, .block_bytes = 64, .pool_bytes = 64}),
        why);
    EXPECT_EQ(check_plan(call.facts, in_turns({})), "");
}

// The client of each wrote the page back as a whole: what one had written was lost.
TEST(CheckPlan, names_the_page_that_nodes_share_where_these_write_whole_ones_back) {
    constexpr auto page = client_page_bytes;
    auto const second_page_is_shared = "nodes share the page at byte " + std::to_string(page);
    Call call{{100, 40 * page + 7}};
    call.facts.page_cached = true;
    auto const& touched = call.facts.touched;
    auto plan =
        staged({contiguous_realm({100, page + 900}), contiguous_realm({page + 900, 3 * page}),
                contiguous_realm({3 * page, touched.end})});
    EXPECT_EQ(check_plan(call.facts, plan), "") << "ranks 0 and 1 are on one node";
    plan.aggregators = {0, 2, 3};
    EXPECT_EQ(check_plan(call.facts, plan), second_page_is_shared);
    call.facts.direction = Direction::read;
    EXPECT_EQ(check_plan(call.facts, plan), "");

    call.facts.direction = Direction::write;
    auto const stripes = [&](std::uint64_t unit) {
        auto striped = staged({striped_realm(0, unit, 2 * unit, touched),
                               striped_realm(unit, unit, 2 * unit, touched)});
        striped.aggregators = {0, 2};
        return striped;
    };
    EXPECT_EQ(check_plan(call.facts, stripes(2 * page)), "");
    EXPECT_EQ(check_plan(call.facts, stripes(1000)), "nodes share the page at byte 0");
    EXPECT_EQ(check_plan(call.facts, stripes(page + 512)), second_page_is_shared);

    plan.within_nodes = true;
    EXPECT_EQ(check_plan(call.facts, plan),
              "this file system writes whole pages back, and nodes may share one");
}

// The border is far behind where the first realm's period was looked at.
TEST(CheckPlan, names_a_shared_page_where_a_long_realm_ends) {
    Call call{{0, 1ULL << 40}};
    call.facts.page_cached = true;
    auto const border = (1ULL << 39) + 5;
    auto plan = staged({contiguous_realm({0, border}), contiguous_realm({border, 1ULL << 40})});
    plan.aggregators = {0, 2};
    EXPECT_EQ(check_plan(call.facts, plan), "nodes share the page at byte 549755813888");
}

// They have different numbers of rounds, in each of which all would have had to meet.
TEST(CheckPlan, names_nodes_that_prefetch_by_themselves) {
    Call call{{0, 100}};
    call.facts.direction = Direction::read;
    auto plan = staged({contiguous_realm({0, 100}), contiguous_realm({0, 100})});
    plan.aggregators = {0, 2};
    plan.within_nodes = plan.prefetch_then_read = true;
    EXPECT_EQ(check_plan(call.facts, plan),
              "nodes that read for themselves do not meet to prefetch");
}

TEST(CheckPlan, names_ranks_that_wait_for_themselves_or_for_nobody) {
    Call const call{{0, 100}};
    EXPECT_EQ(check_plan(call.facts, in_turns({})), "");
    EXPECT_EQ(check_plan(call.facts, in_turns({0, 0, 1, 2})), "");
    EXPECT_EQ(check_plan(call.facts, in_turns({3, 1, 0, 2})),
              "rank 0 waits for itself by way of rank 3");
    EXPECT_EQ(check_plan(call.facts, in_turns({1, 2, 1, 3})),
              "rank 1 waits for itself by way of rank 2");
    EXPECT_EQ(check_plan(call.facts, in_turns({0, 1, 2, 4})), "rank 3 waits for rank 4");
    EXPECT_EQ(check_plan(call.facts, in_turns({0, 1, 2})), "3 of 4 ranks have turns");
    auto endless = in_turns({0, 0, 0, 0});
    endless.delay_s = std::numeric_limits<double>::infinity();
    EXPECT_EQ(check_plan(call.facts, endless), "ranks wait for inf seconds");
}

TEST(CheckPlan, names_a_way_that_is_none) {
    Call const call{{0, 100}};
    EXPECT_EQ(check_plan(call.facts, {.way = Plan::Way::native}), "");
    EXPECT_EQ(check_plan(call.facts, {.way = Plan::Way{9}}), "its way is number 9");
}

}  // namespace
}  // namespace unisono
