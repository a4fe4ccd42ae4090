#include <algorithm>
#include <map>

#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t extent_bytes_wanted = 4 << 20;

/// Ranks whose pieces together are contiguous runs, by the first byte of the first run.
using RowGroups = std::map<std::uint64_t, std::vector<std::uint32_t>>;

/// All row groups, and what each of them asks for from its first byte on.
struct Grid {
    RowGroups groups;
    Loops loops;
};

// Joins `count` groups, each one run behind the one before, to one group; false: they do not lie
// so.
bool join(Grid& grid, std::uint64_t count) {
    RowGroups joined;
    for (auto const& entry : grid.groups) {
        auto const begin = entry.first;
        auto const& group = entry.second;
        auto const run = grid.loops.piece_bytes;
        auto const continued = std::find_if(joined.rbegin(), joined.rend(), [&](auto const& row) {
            auto const runs = row.second.size() / group.size();
            return begin - row.first == runs * run && runs < count;
        });
        auto& row = continued == joined.rend() ? joined[begin] : continued->second;
        row.insert(row.end(), group.begin(), group.end());
    }
    auto const members = grid.groups.begin()->second.size() * count;
    for (auto const& [begin, row] : joined)
        if (row.size() != members) return false;
    grid.groups = std::move(joined);
    return true;
}

// Un-splits the fastest dimension that is split: groups of s/b neighbours have runs of n * s bytes,
// where b is the run so far and (n, s) the loop around it.
bool unsplit(Grid& grid) {
    auto& [run, loops] = grid.loops;
    if (loops.empty()) return false;
    auto const [count, stride] = loops.front();
    if (stride % run != 0 || !join(grid, stride / run)) return false;
    run = count * stride;
    loops.erase(loops.begin());
    return true;
}

Grid row_groups(Facts const& facts) {
    Grid grid{.groups = {}, .loops = facts.loops};
    for (std::uint32_t rank = 0; rank < facts.ranks.size(); ++rank)
        grid.groups[facts.ranks[rank].touched.begin].push_back(rank);
    if (grid.groups.size() != facts.ranks.size()) return grid;  // some ask for the same bytes
    while (grid.loops.piece_bytes < extent_bytes_wanted && unsplit(grid)) {
    }
    return grid;
}

Realm realm_of(Loops const& loops, std::uint64_t begin) {
    auto shape = make_dense(loops.piece_bytes);
    for (auto const& [count, stride] : loops.loops)
        shape = make_repeat(count, static_cast<std::int64_t>(stride), shape);
    auto const bytes = shape->bytes;
    return {{shape, static_cast<std::int64_t>(begin), shape->high}, {0, bytes}};
}

// Ranks that hold the parts of a row exchange them among themselves, so that each has long runs,
// and then all access the file. Two ranks' columns become two ranks' rows:
//   rows      |a b|a b|a b|a b|     pieces of ranks a and b
//   realms    |-- a --|-- b --|
Plan plan_transpose(Facts const& facts) {
    Plan plan{.way = Plan::Way::staged, .window_bytes = window_bytes(facts)};
    auto const grid = row_groups(facts);
    for (auto const& [begin, group] : grid.groups) {
        auto const count = static_cast<std::uint32_t>(group.size());
        auto const shares = split_evenly(realm_of(grid.loops, begin), count, cut_unit(facts));
        plan.aggregators.insert(plan.aggregators.end(), group.begin(), group.end());
        plan.realms.insert(plan.realms.end(), shares.begin(), shares.end());
    }
    return plan;
}

std::string_view unfit_transpose(Facts const& facts) {
    if (facts.loops.empty()) return "not every rank asks for the same loops of pieces";
    if (facts.loops.piece_bytes >= extent_bytes_wanted) return "pieces are large already";
    if (pages_must_not_be_shared(facts))
        return "this file system writes whole pages back, and nodes may share one";
    if (facts.ranks.empty()) return {};  // not yet known
    auto const grid = row_groups(facts);
    if (grid.groups.size() == facts.ranks.size()) return "the ranks' pieces form no rows";
    return {};
}

}  // namespace

constinit Strategy const transpose{
    .name = "transpose",
    .summary = "ranks that share rows of a Cartesian decomposition make long runs of them",
    .source = "ours; done by hand in pmodels/mpich issue 7935",
    .gathers = Gathers::ranks,
    .unfit = unfit_transpose,
    .plan = plan_transpose,
};

}  // namespace unisono
