#include "execute/collective.hpp"

#include <sys/stat.h>

#include "execute/direct.hpp"
#include "execute/staged.hpp"
#include "select/rule.hpp"

namespace unisono {
namespace {

// All of the file has blocks, as far as one cheap call can tell.
bool is_allocated(Storage const& storage, std::uint64_t end) {
    struct stat status {};
    constexpr std::uint64_t block_bytes = 512;
    return fstat(storage.descriptor, &status) == 0 &&
           static_cast<std::uint64_t>(status.st_size) >= end &&
           static_cast<std::uint64_t>(status.st_blocks) * block_bytes >=
               static_cast<std::uint64_t>(status.st_size);
}

Facts facts_of(Proposal const& agreed, Topology const& topology, Options const& options,
               Direction direction) {
    return {.direction = direction,
            .topology = &topology,
            .touched = agreed.bytes == 0 ? Extent{} : agreed.touched,
            .bytes = agreed.bytes,
            .pieces = agreed.pieces,
            .rank_ordered = agreed.rank_ordered,
            .ascending = agreed.ascending,
            .local_storage = agreed.local_storage,
            .mappable = agreed.mappable,
            .allocated = agreed.allocated,
            .options = &options};
}

// Data bytes of the request that lie before the first file byte that anybody missed.
std::uint64_t bytes_before(Request const& request, std::uint64_t stopped_at) {
    if (stopped_at == IoResult::nowhere || request.positions.empty())
        return request.positions.bytes();
    return within(request.view, request.positions, {0, stopped_at}).bytes();
}

}  // namespace

Proposal propose(Request const& request, Storage const& storage) {
    Proposal mine;
    mine.local_storage = storage.local;
    mine.mappable = storage.mappable_write;
    if (request.positions.empty()) return mine;
    mine.touched = touched(request.view, request.positions);
    mine.bytes = request.positions.bytes();
    mine.pieces = piece_estimate(request.view, request.positions);
    mine.alignment = alignment_of(request.view, request.positions);
    mine.ascending = request.view.ascending();
    mine.allocated = request.direction == Direction::read || !mine.mappable ||
                     is_allocated(storage, mine.touched.end);
    return mine;
}

Outcome perform_collective(Team& team, Rendezvous& rendezvous, Storage const& storage,
                           Options const& options, Request const& request, Proposal proposal,
                           CallRecord& record) {
    Stopwatch watch;
    rendezvous.meet(proposal);
    watch.lap(record.waiting_s);
    ++record.meetings;

    Outcome outcome{.refusal = proposal.refusal, .refusing_rank = proposal.refusing_rank};
    if (outcome.refusal != 0) return outcome;
    outcome.native = proposal.must_be_native;
    if (outcome.native) {
        outcome.strategy = "native";
        outcome.why = "some rank cannot access the file, or its view, by itself";
        return outcome;
    }
    auto const facts = facts_of(proposal, team.topology(), options, request.direction);
    auto const choice = choose(facts);
    auto const plan = choice.strategy->plan(facts);
    outcome.strategy = choice.strategy->name;
    outcome.why = choice.why;
    outcome.aggregators = plan.aggregators.size();
    outcome.native = plan.way == Plan::Way::native;
    if (outcome.native) return outcome;

    auto const staged = plan.way == Plan::Way::staged;
    auto const result = staged ? perform_staged(team, rendezvous, storage, facts,
                                                proposal.alignment, plan, request, record)
                               : perform_direct(request, storage, plan.mapped, record);
    outcome.verdict = Verdict{result, team.rank()};
    Stopwatch after;
    rendezvous.meet(outcome.verdict);
    after.lap(record.waiting_s);
    ++record.meetings;
    outcome.bytes = staged ? bytes_before(request, outcome.verdict.stopped_at) : result.bytes;
    return outcome;
}

}  // namespace unisono
