#include "execute/staged/staged_call.hpp"

#include <algorithm>

#include "execute/staged/seamless.hpp"
#include "execute/staged/wanted.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t message_bytes_max = 1 << 30;
// Below this density, an aggregator reads only what was asked for.
constexpr std::uint64_t sieve_ratio = 2;

std::uint64_t lowest_bit(std::uint64_t bits) { return bits & -bits; }

}  // namespace

// Where messages are so short that their number is what they cost, nodes put them together; for
// longer ones the copy and the meeting more cost more than they save (docs/lab/tried.md). Where
// ranks read the same bytes, a node asks for them once.
bool nodes_send(Plan const& plan, Facts const& facts, std::uint64_t mean_message_bytes) {
    constexpr std::uint64_t short_bytes = 16 << 10;
    auto const& topology = *facts.topology;
    auto const wish = plan.intra_node_aggregation;
    if (topology.nodes() == 1 || plan.within_nodes || wish == Switch::disable) return false;
    if (wish == Switch::enable) return true;
    return topology.ranks() > topology.nodes() &&
           (mean_message_bytes <= short_bytes || same_bytes_are_read(facts));
}

StagedCall::StagedCall(StagedParts const& parts, std::uint64_t alignment)
    : StagedParts{parts}, touched_{touched(request.view, request.positions)} {
    find_own_aggregators();
    make_schedule();
    windows_.emplace(team, plan.aggregators, schedule_->window_bytes(),
                     schedule_->rounds() > 1 ? 2U : 1U,
                     lowest_bit(alignment | schedule_->alignment()));
    agree_on_windows();
    node_aggregated_ = nodes_send(plan, facts, expected_.mean_message_bytes());
    auto const read_over_fast_links =
        request.direction == Direction::read && facts.links == Links::fast;
    if (!plan.within_nodes) team.expect_messages(facts.bytes, read_over_fast_links);
    auto const one_memory = windows_->shared() && team.topology().nodes() == 1;
    seamless_ = one_memory && request.direction == Direction::write && may_be_seamless(facts) &&
                is_seamless(team, facts, request);
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
    schedule_.emplace(realms, std::min(plan.window_bytes, message_bytes_max), wanted,
                      staggered ? RoundSchedule::Begin::staggered : RoundSchedule::Begin::together);
    auto const asked_bytes =
        plan.within_nodes ? facts.bytes / team.topology().nodes() : facts.bytes;
    exact_reads_ = schedule_->bytes() / sieve_ratio > asked_bytes;
}

// Whether all have the windows that the call needs.
void StagedCall::agree_on_windows() {
    std::uint64_t lacking = windows_->missing() ? 1 : 0;
    if (plan.within_nodes && team.topology().nodes() > 1) team.sum({&lacking, 1}, Team::Among::all);
    if (sends_messages()) lacking = learn_what_comes(lacking);
    windows_missing_ = lacking != 0;
}

std::uint64_t StagedCall::learn_what_comes(std::uint64_t also) {
    return expected_.learn(
        {.team = team,
         .among = plan.within_nodes ? Team::Among::node : Team::Among::all,
         .bytes_for = [this](Round const& round,
                             std::size_t aggregator) { return bytes_for(round, aggregator); }},
        *schedule_, also);
}

Round StagedCall::next_round() {
    if (!knows_next_round()) learn_what_comes(0);
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

// Of those it has in the window of an aggregator with another memory.
std::uint64_t StagedCall::bytes_for(Round const& round, std::size_t aggregator) const {
    if (is_near(aggregator) || !takes_part(aggregator, team.rank())) return 0;
    return own_bytes(round, aggregator, round.bytes(aggregator));
}

std::uint64_t StagedCall::own_bytes(Round const& round, std::size_t aggregator,
                                    std::uint64_t bytes) const {
    std::uint64_t sum = 0;
    for_own_parts(round, aggregator, bytes,
                  [&](Positions part, std::uint64_t) { sum += part.bytes(); });
    return sum;
}

}  // namespace unisono
