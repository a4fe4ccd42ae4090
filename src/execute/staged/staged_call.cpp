#include "execute/staged/staged_call.hpp"

#include <algorithm>
#include <limits>

#include "execute/staged/wanted.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t message_bytes_max = 1 << 30;
// Below this density, an aggregator reads only what was asked for.
constexpr std::uint64_t sieve_ratio = 2;

// Nodes send to nodes, not ranks to ranks, where an aggregator would hear from very many ranks. For
// fewer, the copy and the meeting more cost more than they save (docs/lab/tried.md).
bool wants_node_aggregation(Topology const& topology, Plan const& plan) {
    auto const wish = plan.intra_node_aggregation;
    if (topology.nodes() == 1 || plan.within_nodes || wish == Switch::disable) return false;
    constexpr std::uint32_t fan_in_max = 64;
    auto const merges = topology.ranks() > topology.nodes();
    return wish == Switch::enable || (merges && topology.ranks() > fan_in_max);
}

// With node aggregation a node holds windows for every aggregator: smaller ones where these are
// many, so that a rank's share of them stays the same.
std::uint64_t window_bytes_of(Topology const& topology, Plan const& plan, bool node_aggregated) {
    constexpr std::uint64_t least = 64 * 1024;
    auto const most = std::min(plan.window_bytes, message_bytes_max);
    if (!node_aggregated) return most;
    auto const smallest =
        std::ranges::min(topology.ranks_of, {}, &std::vector<std::uint32_t>::size);
    auto const fair = most * 2 * smallest.size() / plan.aggregators.size();
    return std::min(most, std::max(fair, least));
}

std::uint64_t lowest_bit(std::uint64_t bits) { return bits & -bits; }

}  // namespace

StagedCall::StagedCall(StagedParts const& parts, std::uint64_t alignment)
    : StagedParts{parts},
      touched_{touched(request.view, request.positions)},
      node_aggregated_{wants_node_aggregation(team.topology(), plan)} {
    find_own_aggregators();
    make_schedule();
    windows_.emplace(team, plan.aggregators, schedule_->window_bytes(),
                     schedule_->rounds() > 1 ? 2U : 1U,
                     lowest_bit(alignment | schedule_->alignment()), node_aggregated_);
    if (node_aggregated_) learn_node_extents();
    if (!node_aggregated_ && sends_messages()) learn_extents();
    if (!plan.within_nodes) team.expect_messages(facts.bytes);
    record.lap(Phase::waiting);
}

void StagedCall::find_own_aggregators() {
    auto const& aggregators = plan.aggregators;
    for (std::size_t i = 0; i < aggregators.size(); ++i) {
        if (aggregators[i] < team.rank()) first_ = (i + 1) % aggregators.size();
        if (aggregators[i] == team.rank()) own_.push_back(i);
    }
}

// With core_first nodes' realms overlap, and their ranks take no part in each other's.
void StagedCall::make_schedule() {
    if (plan.within_nodes)
        for (std::size_t i = 0; i < plan.realms.size(); ++i)
            own_nodes_realms_.push_back(takes_part(i, team.rank()) ? plan.realms[i] : Realm{});
    auto const& realms = plan.within_nodes ? own_nodes_realms_ : plan.realms;
    std::vector<Extent> wanted{facts.touched};
    if (worth_looking_for_holes(facts))
        wanted = find_wanted(team, plan.within_nodes ? Team::Among::node : Team::Among::all, facts,
                             request);
    schedule_.emplace(realms, window_bytes_of(team.topology(), plan, node_aggregated_), wanted);
    auto const asked_bytes =
        plan.within_nodes ? facts.bytes / team.topology().nodes() : facts.bytes;
    exact_reads_ = schedule_->bytes() / sieve_ratio > asked_bytes;
}

// What each rank touches, and whether all have windows: those that are shared are there, or on no
// rank of the node.
void StagedCall::learn_extents() {
    struct Presence {
        Extent touched;
        std::uint64_t lacks_windows;
    };
    Presence const mine{touched_, windows_->missing() ? 1U : 0U};
    for (auto const& rank : team.gather_values(std::span{&mine, 1})) {
        windows_missing_ = windows_missing_ || rank.lacks_windows != 0;
        if (!own_.empty()) extents_.push_back(rank.touched);
    }
}

// What each node touches, and whether all nodes have the windows that node aggregation needs. A
// minimum is 16 bytes a node, where a gather is 24 bytes a rank, on each rank.
void StagedCall::learn_node_extents() {
    constexpr auto offset_max =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 1;
    auto const& topology = team.topology();
    std::vector<std::uint64_t> least(2 * topology.nodes() + 1, IoResult::nowhere);
    if (auto const mine = 2 * topology.node_of[team.rank()]; !touched_.empty()) {
        least[mine] = touched_.begin;
        least[mine + 1] = offset_max - touched_.end;
    }
    least.back() = windows_->shared() ? 1 : 0;
    team.minimum(least);
    node_aggregated_ = least.back() != 0;
    for (std::size_t at = 0; at + 1 < least.size(); at += 2)
        node_extents_.push_back(least[at] == IoResult::nowhere
                                    ? Extent{}
                                    : Extent{least[at], offset_max - least[at + 1]});
}

bool StagedCall::shares_memory(std::uint32_t rank) const {
    auto const& node_of = team.topology().node_of;
    return rank == team.rank() || (windows_->shared() && node_of[rank] == node_of[team.rank()]);
}

bool StagedCall::takes_part(std::size_t aggregator, std::uint32_t rank) const {
    auto const& node_of = team.topology().node_of;
    return !plan.within_nodes || node_of[plan.aggregators[aggregator]] == node_of[rank];
}

bool StagedCall::serves_rank(Round const& round, std::size_t own_aggregator,
                             std::uint32_t rank) const {
    return !shares_memory(rank) && takes_part(own_aggregator, rank) &&
           round.meets(own_aggregator, extents_[rank]);
}

bool StagedCall::serves_node(Round const& round, std::size_t own_aggregator,
                             std::size_t node) const {
    return node != team.topology().node_of[team.rank()] &&
           round.meets(own_aggregator, node_extents_[node]);
}

bool StagedCall::serves_others(Round const& round, std::size_t own_aggregator) const {
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank)
        if (serves_rank(round, own_aggregator, rank)) return true;
    for (std::size_t node = 0; node < node_extents_.size(); ++node)
        if (serves_node(round, own_aggregator, node)) return true;
    return false;
}

std::uint64_t StagedCall::own_bytes(Round const& round, std::size_t aggregator,
                                    std::uint64_t bytes) const {
    std::uint64_t sum = 0;
    for_own_parts(round, aggregator, bytes,
                  [&](Positions part, std::uint64_t) { sum += part.bytes(); });
    return sum;
}

}  // namespace unisono
