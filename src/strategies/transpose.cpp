#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t extent_bytes_wanted = 4 << 20;

/// Groups of equally many ranks whose pieces together are contiguous runs.
struct Grid {
    std::vector<std::uint64_t> begins;  ///< by group, ascending: first byte of its first run
    std::vector<std::uint32_t> ranks;   ///< group after group
    Loops loops;                        ///< what each group asks for from its first byte on

    [[nodiscard]] std::size_t group_size() const { return ranks.size() / begins.size(); }
    [[nodiscard]] std::span<std::uint32_t const> group(std::size_t index) const {
        return std::span{ranks}.subspan(index * group_size(), group_size());
    }
};

// Joins `count` groups, each one run behind the one before, to one group; false: they do not lie
// so.
bool join(Grid& grid, std::uint64_t count) {
    Grid joined{.loops = grid.loops};
    std::vector<bool> taken(grid.begins.size());
    for (auto const begin : grid.begins) {
        for (std::uint64_t i = 0; i < count; ++i) {
            auto const next =
                std::ranges::lower_bound(grid.begins, begin + i * grid.loops.piece_bytes);
            auto const index = static_cast<std::size_t>(next - grid.begins.begin());
            if (i == 0 && taken[index]) break;
            if (next == grid.begins.end() || *next != begin + i * grid.loops.piece_bytes ||
                taken[index])
                return false;
            taken[index] = true;
            std::ranges::copy(grid.group(index), std::back_inserter(joined.ranks));
            if (i == 0) joined.begins.push_back(begin);
        }
    }
    grid = std::move(joined);
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

std::uint64_t extent_of(Loops const& loops) {
    auto bytes = loops.piece_bytes;
    for (auto const& [count, stride] : loops.loops) bytes += (count - 1) * stride;
    return bytes;
}

// Whether the same loops from each of `begins` (ascending) on have no byte in common. May also say
// no where a step of a loop leads into the next one's; arrays never do that.
bool disjoint(std::vector<std::uint64_t> const& begins, Loops loops) {
    if (loops.loops.empty()) {
        auto const overlap = std::ranges::adjacent_find(
            begins, [&](auto one, auto next) { return next - one < loops.piece_bytes; });
        return overlap == begins.end();
    }
    auto const [count, stride] = loops.loops.back();
    loops.loops.pop_back();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;  // place within it, number
    steps.reserve(begins.size());
    for (auto const begin : begins) steps.emplace_back(begin % stride, begin / stride);
    std::ranges::sort(steps);
    std::vector<std::uint64_t> places;
    std::uint64_t free_step = 0;
    for (auto const& [place, step] : steps) {
        if (places.empty() || places.back() != place)
            places.push_back(place);
        else if (step < free_step)
            return false;
        free_step = step + count;
    }
    return places.back() + extent_of(loops) <= stride && disjoint(places, std::move(loops));
}

// Nothing when ranks' pieces form no rows, or some overlap.
std::optional<Grid> row_groups(Facts const& facts) {
    auto const begin_of = [&](auto rank) { return facts.ranks[rank].touched.begin; };
    Grid grid{.ranks = std::vector<std::uint32_t>(facts.ranks.size()), .loops = facts.loops};
    std::iota(grid.ranks.begin(), grid.ranks.end(), 0);
    std::ranges::sort(grid.ranks, {}, begin_of);
    for (auto const rank : grid.ranks) grid.begins.push_back(begin_of(rank));
    if (std::ranges::adjacent_find(grid.begins) != grid.begins.end()) return {};
    while (grid.loops.piece_bytes < extent_bytes_wanted && unsplit(grid)) {
    }
    auto begins = grid.begins;
    for (auto& begin : begins) begin -= grid.begins.front();
    if (grid.group_size() == 1 || !disjoint(begins, grid.loops)) return {};
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
Plan plan_transpose(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::staged, .window_bytes = window_bytes(facts, options)};
    auto const grid = *row_groups(facts);
    for (std::size_t i = 0; i < grid.begins.size(); ++i) {
        auto const group = grid.group(i);
        std::ranges::copy(group, std::back_inserter(plan.aggregators));
        std::ranges::copy(
            split_evenly(realm_of(grid.loops, grid.begins[i]),
                         static_cast<std::uint32_t>(group.size()), cut_unit(facts, options)),
            std::back_inserter(plan.realms));
    }
    return plan;
}

std::string_view unfit_transpose(Facts const& facts) {
    if (facts.loops.empty()) return "not every rank asks for the same loops of pieces";
    if (facts.loops.piece_bytes >= extent_bytes_wanted) return "pieces are large already";
    if (auto const why = unfit_to_share_pages(facts); !why.empty()) return why;
    if (facts.ranks.empty()) return {};  // not yet known
    return row_groups(facts) ? "" : "the ranks' pieces form no rows, or overlap";
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
