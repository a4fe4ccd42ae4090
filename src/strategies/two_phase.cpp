#include <algorithm>
#include <iterator>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/node_realms.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

// Larger than usual where they are cut into servers' stripes. Reads: a round waits for its answers,
// and disks seek between aggregators' realms, so a window has several stripes of each server, and
// many of slow ones.
// Writes: several whole stripes, each of which is one request; where each rank is alone on its
// node, and messages are many and short, the usual rounds overlap more (docs/lab/tried.md has the
// measurements).
std::uint64_t window_bytes_of_call(Facts const& facts, Options const& options) {
    constexpr std::uint64_t stripes = 4;
    constexpr std::uint64_t most = 4 << 20;
    auto const usual = window_bytes(facts, options);
    if (options.cb_buffer_size != 0 || facts.layout == nullptr || facts.local_storage) return usual;
    auto const stripes_bytes = stripes * facts.layout->unit_at(facts.touched.begin);
    if (facts.direction == Direction::read) {
        if (same_bytes_are_read(facts)) return usual;
        return facts.links == Links::idle
                   ? std::max(usual, most)
                   : std::clamp(stripes_bytes * facts.layout->servers(), usual, most);
    }
    auto const alone = facts.topology->ranks() == facts.topology->nodes();
    return alone ? usual : std::clamp(stripes_bytes, usual, most);
}

// Where pieces are dealt in turn to more ranks than have some in a window, the first windows of all
// aggregators are the same few ranks', and the other links would be idle. (But neighbours, who have
// to do with each other's edges, get at them in the same round if all begin with the first.)
bool turn_is_longer_than(std::uint64_t window_bytes, Facts const& facts) {
    return facts.mean_piece_bytes() * facts.topology->ranks() > window_bytes;
}

// Reads: somewhat longer ones, if the largest realm is a few whole windows then. A round for the
// rest of it would take about as long as any other.
std::uint64_t fill_windows(Plan const& plan, std::uint64_t unit) {
    auto const bytes = [](Realm const& realm) { return realm.positions.bytes(); };
    auto const largest = bytes(*std::ranges::max_element(plan.realms, {}, bytes));
    auto const rounds = div_ceil(largest, plan.window_bytes + plan.window_bytes / 8);
    if (rounds < 2) return plan.window_bytes;
    auto const step = unit <= plan.window_bytes ? unit : storage_page_bytes;
    return round_up(div_ceil(largest, rounds), step);
}

// As many aggregators on each node as there are in the mean, for what its own ranks ask for.
void own_by_nodes(Plan& plan, std::vector<Realm> const& realms, Facts const& facts,
                  std::uint64_t unit) {
    auto const& topology = *facts.topology;
    auto const in_all = plan.aggregators.size();
    plan.aggregators.clear();
    plan.realms.clear();
    for (std::size_t node = 0; node < topology.nodes(); ++node) {
        auto const& ranks = topology.ranks_of[node];
        auto const count = std::min(div_ceil(in_all, topology.nodes()), ranks.size());
        std::copy_n(ranks.begin(), count, std::back_inserter(plan.aggregators));
        std::ranges::move(split_evenly(realms[node], static_cast<std::uint32_t>(count), unit),
                          std::back_inserter(plan.realms));
    }
}

// The touched range in even, contiguous realms, one per aggregator:
//   touched   ==========================
//   realms    |--- a0 ---|--- a1 --|- a2 -|     cut at stripes, or at pages
// Each realm goes through its aggregator's collective buffer, window after window.
// Where each node's ranks ask for parts of their own, a block of an array or a range, these are cut
// instead: little or nothing need go between nodes.
//   node 0    ====    ====    ====              |a0  |    |a1     |
//   node 1        ====    ====    ===               |a2  |    |a3  |
// Differs from ROMIO: cuts at stripes or pages (Liao and Choudhary, SC '08); nothing is read in
// order to be written back; on a local file system all ranks aggregate, through shared memory.
Plan plan_two_phase(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::staged,
              .aggregators = choose_equally_many_of_nodes(facts, options),
              .window_bytes = window_bytes_of_call(facts, options)};
    plan.staggered = turn_is_longer_than(plan.window_bytes, facts);
    auto const count = static_cast<std::uint32_t>(plan.aggregators.size());
    auto const unit = cut_unit(facts, options);
    for (auto const& share : split_evenly(facts.touched, count, unit))
        plan.realms.push_back(contiguous_realm(share));
    if (auto const realms = realms_of_nodes(facts, options, plan); !realms.empty())
        own_by_nodes(plan, realms, facts, unit);
    auto const windows_may_grow = options.cb_buffer_size == 0 && !facts.local_storage;
    if (windows_may_grow && facts.direction == Direction::read)
        plan.window_bytes = fill_windows(plan, unit);
    return plan;
}

}  // namespace

constinit Strategy const two_phase{
    .name = "two_phase",
    .summary = "even contiguous file realms, cut at stripes; a local file's ranks all aggregate",
    .source = "Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO, Frontiers '99",
    .cell_bytes = cell_bytes_of_nodes,
    .unfit = unfit_to_stage,
    .plan = plan_two_phase,
};

}  // namespace unisono
