#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "counted_call.hpp"
#include "exchange/view_directory.hpp"
#include "strategies/all.hpp"
#include "support/cpu_time.hpp"
#include "workloads.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t large_unit = 64 << 10;

// Full size, on 32 servers with one aggregator each where that can be; 64 ranks a node, 16 where
// there are 64 in all.
Scene full_size(Scene scene) {
    auto const ranks = static_cast<std::uint32_t>(scene.requests.size());
    std::vector<std::uint32_t> labels(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        labels[rank] = rank / std::min(ranks / 4, 64U);
    scene.topology = make_topology(labels);
    scene.layout = round_robin_layout(large_unit, 32);
    scene.options.cb_nodes = 32;
    return scene;
}

// What a rank holds of a plan, and of what was gathered for it.
std::uint64_t bytes_per_rank(Strategy const& strategy, Facts const& facts, Plan const& plan) {
    auto bytes = plan.aggregators.size() * sizeof(plan.aggregators[0]) +
                 plan.realms.size() * sizeof(plan.realms[0]) +
                 plan.waits_for.size() * sizeof(plan.waits_for[0]);
    if (strategy.gathers != Gathers::nothing) bytes += facts.ranks.size_bytes();
    if (strategy.gathers == Gathers::server_bytes) bytes += facts.server_bytes.size_bytes();
    if (plan.way == Plan::Way::cached) bytes += facts.ranks.size() * sizeof(ViewInterval);
    return bytes;
}

// Columns: aggregators, pairs of a rank and an aggregator on another node that have data for each
// other, bytes of that, bytes of memory that planning takes on each rank.
std::string table(Scene const& scene) {
    SceneFacts const known{scene};
    std::string rows = "\nstrategy    aggregators  pairs      bytes  memory\n";
    for (auto const* strategy : all_strategies()) {
        if (!strategy->unfit(known.facts).empty()) continue;
        auto const plan = strategy->plan(known.facts, scene.options);
        if (plan.way != Plan::Way::staged && plan.way != Plan::Way::cached) continue;
        // A transposed row is cut within stripe units, at what all its pieces can be divided by.
        auto const cell_bytes = strategy == &transpose ? known.facts.loops.piece_bytes : large_unit;
        auto const crossing = crossing_bytes(scene, plan, cell_bytes);
        std::array<char, 200> text{};
        std::snprintf(text.data(), text.size(), "%-12s%11zu %6lu %10lu %7lu\n",
                      strategy->name.data(), plan.aggregators.size(), crossing.pairs,
                      crossing.bytes, bytes_per_rank(*strategy, known.facts, plan));
        rows += text.data();
    }
    return rows;
}

// 16 stripe units in a plane of the array, 4 of them in the rows of one rank: a rank's planes are
// on 8 servers, in turn on one half and the other. 4 nodes with 8 aggregators each; of a rank's 8,
// two on average are on its own node: 64 * 6 = 384 pairs, 3/4 of 512 MiB.
TEST(Large, coll_perf_with_64_ranks) {
    EXPECT_EQ(table(full_size(coll_perf(64, 512))), R"(
strategy    aggregators  pairs      bytes  memory
two_phase            32      0          0    1664
disk_first           32    384  402653184    1664
resonant             32    384  402653184   19584
lacio                32    384  402653184    1664
core_first            4      0          0    1744
transpose            64      0          0    4864
view_based           32   1536  402653184    3200
)");
}

TEST(Large, coll_perf_with_1024_ranks) {
    EXPECT_EQ(table(full_size(coll_perf(1024, 512))), R"(
strategy    aggregators  pairs      bytes  memory
two_phase            32      0          0    1664
disk_first           32   3840  503316480    1664
resonant             32   3840  503316480  288384
lacio                32   3840  503316480    1664
core_first           16      0          0   25408
transpose          1024      0          0   77824
view_based           32   7680  503316480   49280
)");
}

// Half a stripe unit in the rows of one rank, so its planes are on 2 servers; in two_phase they are
// in one realm. 256 nodes: 255/256 of 512 MiB cross, and 2 * 16384 * 255/256 = 32640 pairs, or half
// as many. resonant gathers 24 + 32 * 8 bytes for each rank, transpose 24.
TEST(Large, coll_perf_with_16384_ranks) {
    EXPECT_EQ(table(full_size(coll_perf(16384, 512))), R"(
strategy    aggregators  pairs      bytes  memory
two_phase            32  16320  534773760    1664
disk_first           32  32640  534773760    1664
resonant             32  31744  520093696 4589184
lacio                32  32640  534773760    1664
core_first          256      0          0  406528
transpose         16384 229376  469762048 1245184
view_based           32  65280  534773760  786560
)");
}

TEST(Large, btio_with_64_ranks) {
    EXPECT_EQ(table(full_size(btio(64, 102))), R"(
strategy    aggregators  pairs      bytes  memory
two_phase            32   1536   31916496    1664
disk_first           32   1536   31928608    1664
resonant             32   1536   30429232   19584
lacio                32   1536   31928608    1664
core_first            4      0          0    1744
view_based           32    528   31783712    3200
)");
}

// More ranks do not fit: class B's 102 cells cannot be cut in 128.
TEST(Large, btio_with_1024_ranks) {
    EXPECT_EQ(table(full_size(btio(1024, 102))), R"(
strategy    aggregators  pairs      bytes  memory
two_phase            32  30720   39296944    1664
disk_first           32  30720   39759568    1664
resonant             32  30720   39144736  288384
lacio                32  30720   39759568    1664
core_first           16      0          0   25408
view_based           32  10560   39902400   49280
)");
}

double best_cpu_seconds(auto&& act) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
        auto const begin_s = cpu_seconds();
        act();
        best = std::min(best, cpu_seconds() - begin_s);
    }
    return best;
}

// At most 3 ms of computing, but 25 ms for resonant with 128 servers, where it looks at two million
// numbers, ranks x servers. The limit leaves room for slow machines, none for anything quadratic.
TEST(Large, planning_for_16384_ranks_takes_milliseconds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take several times as long";
#endif
    for (std::uint32_t const servers : {32, 128})
        for (std::uint32_t const aggregators : {0, 32, 16384}) {
            auto scene = full_size(coll_perf(16384, 512));
            scene.layout = round_robin_layout(large_unit, servers);
            scene.options.cb_nodes = aggregators;
            SceneFacts known{scene};
            for (auto const in_order : {false, true}) {
                known.facts.rank_ordered = in_order;
                for (auto const* strategy : all_strategies()) {
                    auto const seconds = best_cpu_seconds([&] {
                        ASSERT_EQ(strategy->unfit(known.facts), "");
                        EXPECT_LE(strategy->plan(known.facts, scene.options).aggregators.size(),
                                  16384u);
                    });
                    EXPECT_LT(seconds, 0.15) << strategy->name << ", " << servers << " servers, "
                                             << aggregators << " aggregators asked for";
                }
            }
        }
}

}  // namespace
}  // namespace unisono
