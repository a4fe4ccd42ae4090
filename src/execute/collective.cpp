#include "execute/collective.hpp"

#include <sys/stat.h>

#include "execute/direct.hpp"
#include "execute/staged.hpp"
#include "select/rule.hpp"

namespace unisono {
namespace {

// 0 where nobody can tell.
std::uint64_t file_bytes_of(Storage const& storage) {
    struct stat status {};
    return fstat(storage.descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

Facts facts_of(Proposal const& agreed, Topology const& topology, Layout const& layout,
               Options const& options, Request const& request) {
    auto const regular = agreed.loops != 0;
    return {.direction = request.direction,
            .topology = &topology,
            .layout = &layout,
            .touched = agreed.bytes == 0 ? Extent{} : agreed.touched,
            .bytes = agreed.bytes,
            .pieces = agreed.pieces,
            .rank_ordered = agreed.rank_ordered,
            .ascending = agreed.ascending,
            .local_storage = agreed.local_storage,
            .page_cached = agreed.page_cached,
            .mappable = agreed.mappable,
            .file_bytes = agreed.file_bytes,
            .native_ready = agreed.native_ready,
            .cacheable = agreed.cacheable,
            .shapes = agreed.shapes,
            .loops = regular ? loops_of(request.view, request.positions) : Loops{},
            .options = &options};
}

// A rank that has to wait for another begins so long after that one has begun.
IoResult perform_in_turn(Team& team, Plan const& plan, Request const& request,
                         Storage const& storage, CallRecord& record) {
    auto const me = team.rank();
    Stopwatch watch;
    if (!plan.waits_for.empty() && plan.waits_for[me] != me) {
        team.receive(plan.waits_for[me], Team::Kind::turn);
        watch.lap(record.waiting_s);
        double delayed_s = 0;
        for (; delayed_s < plan.delay_s; watch.lap(delayed_s)) team.idle();
        record.waiting_s += delayed_s;
    }
    for (std::uint32_t rank = 0; rank < plan.waits_for.size(); ++rank)
        if (rank != me && plan.waits_for[rank] == me) team.send(rank, Team::Kind::turn, {});
    auto const result = perform_direct(request, request.positions, storage, record);
    team.finish_sends(0);
    return result;
}

IoResult carry_out(Plan const& plan, CollectiveFile const& file, Facts const& facts,
                   Proposal const& agreed, Request const& request, CallRecord& record) {
    auto const& storage = file.storage;
    // Nobody is growing the file now, and in this call it grows from here on.
    if (facts.mappable && facts.direction == Direction::write) *storage.settled = facts.file_bytes;
    IoResult result;
    if (plan.way == Plan::Way::cached)
        result = file.cache->perform(facts, agreed.write_through, request, record);
    else if (plan.way == Plan::Way::staged)
        result = perform_staged(file.team, file.rendezvous, storage, facts, agreed.alignment, plan,
                                request, record);
    else
        result = perform_in_turn(file.team, plan, request, storage, record);
    *storage.settled = 0;
    return result;
}

// Data bytes of the request that lie before the first file byte that anybody missed.
std::uint64_t bytes_before(Request const& request, std::uint64_t stopped_at) {
    if (stopped_at == IoResult::nowhere || request.positions.empty())
        return request.positions.bytes();
    return within(request.view, request.positions, {0, stopped_at}).bytes();
}

// Brings the cache into the state that the plan wants; false on all ranks when it has no memory.
bool ready(Plan const& plan, CachedFile* cache, Proposal const& agreed, Facts const& facts,
           CallRecord& record) {
    auto const cached = plan.way == Plan::Way::cached;
    auto const past_it = !cached && facts.bytes > 0;
    if (cache != nullptr && (past_it || agreed.drain_cache)) cache->drain(record);
    return !cached || (cache != nullptr && cache->prepare(facts, plan, record));
}

}  // namespace

Proposal propose(Request const& request, Storage const& storage) {
    Proposal mine;
    mine.local_storage = storage.local;
    mine.page_cached = storage.page_cached;
    mine.mappable = storage.mappable_write;
    mine.cacheable = storage.descriptor >= 0;
    if (request.positions.empty()) return mine;
    mine.touched = touched(request.view, request.positions);
    mine.bytes = request.positions.bytes();
    mine.pieces = piece_estimate(request.view, request.positions);
    mine.loops = fingerprint(loops_of(request.view, request.positions));
    mine.shapes = fingerprint(request.view, request.positions);
    mine.alignment = alignment_of(request.view, request.positions);
    mine.ascending = request.view.ascending();
    if (request.direction == Direction::write && mine.mappable)
        mine.file_bytes = file_bytes_of(storage);
    return mine;
}

Outcome perform_collective(CollectiveFile const& file, Request const& request, Proposal proposal,
                           CallRecord& record) {
    auto const& [team, rendezvous, storage, layout, options, measured, gathered, cache] = file;
    Stopwatch watch;
    proposal.last_seconds = measured.last_seconds();
    gathered.announce(proposal);
    if (cache == nullptr) proposal.cacheable = false;
    if (cache != nullptr) cache->announce(proposal, request, options);
    rendezvous.meet(proposal);
    watch.lap(record.waiting_s);
    measured.learn(proposal.last_seconds);
    ++record.meetings;

    Outcome outcome{.refusal = proposal.refusal,
                    .refusing_rank = proposal.refusing_rank,
                    .met_after_s = record.waiting_s};
    if (outcome.refusal != 0) return outcome;
    outcome.native = proposal.must_be_native;
    if (outcome.native) {
        outcome.strategy = "native";
        outcome.why = "some rank cannot access the file, or its view, by itself";
        return outcome;
    }
    auto facts = facts_of(proposal, team.topology(), layout, options, request);
    auto const measures = Measured::wanted(options);
    auto choice = measures ? measured.choose(facts) : choose(facts);
    auto const gathers = choice.strategy->gathers;
    gathered.complete(facts, gathers, proposal.as_gathered, team, request);
    if (gathers != Gathers::nothing)
        if (auto const refusal = choice.strategy->unfit(facts); !refusal.empty()) {
            measured.refuse();
            facts.options = &options;
            choice = choose_instead(facts, refusal);
        }
    watch.lap(record.waiting_s);
    auto plan = choice.strategy->plan(facts);
    if (!ready(plan, cache, proposal, facts, record)) {
        measured.refuse();
        facts.options = &options;
        choice = choose_instead(facts, "no shared memory for the collective buffers");
        plan = choice.strategy->plan(facts);
    }
    outcome.strategy = choice.strategy->name;
    outcome.why = choice.why;
    outcome.refusal_of_strategy = choice.refusal;
    outcome.aggregators = plan.aggregators.size();
    outcome.native = plan.way == Plan::Way::native;
    if (outcome.native) return outcome;

    auto const result = carry_out(plan, file, facts, proposal, request, record);
    outcome.verdict = Verdict{result, team.rank()};
    Stopwatch after;
    rendezvous.meet(outcome.verdict);
    after.lap(record.waiting_s);
    ++record.meetings;
    outcome.bytes = plan.way == Plan::Way::direct
                        ? result.bytes
                        : bytes_before(request, outcome.verdict.stopped_at);
    if (cache != nullptr && plan.way == Plan::Way::cached) cache->finish_call(record);
    return outcome;
}

}  // namespace unisono
