#include "execute/staged/staged_call.hpp"

#include <algorithm>

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
// many, so that a rank's share of them stays at two times a MiB.
std::uint64_t window_bytes_of(Topology const& topology, Plan const& plan, bool node_aggregated) {
    constexpr std::uint64_t least = 64 * 1024;
    auto const most = std::min(plan.window_bytes, message_bytes_max);
    if (!node_aggregated) return most;
    auto const smallest =
        std::ranges::min(topology.ranks_of, {}, &std::vector<std::uint32_t>::size);
    auto const fair = smallest.size() * (1 << 20) / plan.aggregators.size();
    return std::min(most, std::max<std::uint64_t>(fair, least));
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
    agree_on_windows();
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
    auto const staggered = plan.staggered && team.topology().nodes() > 1 && !plan.within_nodes;
    schedule_.emplace(realms, window_bytes_of(team.topology(), plan, node_aggregated_), wanted,
                      staggered ? RoundSchedule::Begin::staggered : RoundSchedule::Begin::together);
    auto const asked_bytes =
        plan.within_nodes ? facts.bytes / team.topology().nodes() : facts.bytes;
    exact_reads_ = schedule_->bytes() / sieve_ratio > asked_bytes;
}

// Whether all have the windows that the call needs.
void StagedCall::agree_on_windows() {
    std::uint64_t lacking = windows_->missing() ? 1 : 0;
    if (node_aggregated_) {
        std::uint64_t all_share = windows_->shared() ? 1 : 0;
        team.minimum({&all_share, 1});
        node_aggregated_ = all_share != 0;
    }
    if (plan.within_nodes && team.topology().nodes() > 1) team.sum({&lacking, 1}, Team::Among::all);
    if (sends_messages()) lacking = learn_messages(lacking);
    windows_missing_ = lacking != 0;
}

std::uint64_t StagedCall::learn_messages(std::uint64_t also) {
    return expected_.learn(
        {.team = team,
         .among = plan.within_nodes ? Team::Among::node : Team::Among::all,
         .node_aggregated = node_aggregated_,
         .sends_to = [this](std::size_t to) { return sends_to(to); },
         .has_bytes_in = [this](Round const& round,
                                std::size_t in) { return has_bytes_in(round, in); }},
        *schedule_, also);
}

Round StagedCall::next_round() {
    if (sends_messages() && !expected_.know(schedule_->rounds_taken())) learn_messages(0);
    return schedule_->next();
}

bool StagedCall::is_near(std::size_t aggregator) const {
    auto const rank = plan.aggregators[aggregator];
    auto const& node_of = team.topology().node_of;
    return rank == team.rank() || (windows_->shared() && node_of[rank] == node_of[team.rank()]);
}

bool StagedCall::takes_part(std::size_t aggregator, std::uint32_t rank) const {
    auto const& node_of = team.topology().node_of;
    return !plan.within_nodes || node_of[plan.aggregators[aggregator]] == node_of[rank];
}

// With node aggregation the node's ranks share the work.
bool StagedCall::sends_to(std::size_t aggregator) const {
    auto const me = team.rank();
    auto const& ranks = team.topology().ranks_of[team.topology().node_of[me]];
    return !is_near(aggregator) && takes_part(aggregator, me) &&
           (!node_aggregated_ || ranks[aggregator % ranks.size()] == me);
}

bool StagedCall::has_bytes_in(Round const& round, std::size_t aggregator) const {
    for (auto const& [file, at] : round.parts[aggregator])
        if (!part_in(file).empty()) return true;
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
