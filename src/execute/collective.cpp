#include "execute/collective.hpp"

#include "execute/agree.hpp"
#include "execute/checks.hpp"
#include "execute/perform.hpp"
#include "execute/through_host.hpp"
#include "select/call_selection.hpp"
#include "strategies/all.hpp"
#include "strategies/ask.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

/// What is done about a call, and who has said so; equal on all ranks.
struct Decision {
    Selection selection;
    PlannedCall call;
};

PlannedCall planned(Selection const& selection, Facts const& facts, Proposal const& agreed) {
    auto const& strategy = *selection.strategy;
    auto const& options = *selection.options;
    PlannedCall call{.facts = facts,
                     .plan = ask(strategy, strategy.plan, facts, options),
                     .alignment = agreed.asked.alignment,
                     .write_through = agreed.cache.write_through};
    call.plan.intra_node_aggregation = options.intra_node_aggregation;
    // On a node's own file system pieces with holes are fast. Where whole pages are written back,
    // what is read may be older than what another node wrote; where each node writes its own
    // pieces, another one may be writing into the holes.
    call.plan.writes_holes = options.ds_write == Switch::enable && !facts.local_storage &&
                             !facts.page_cached && !call.plan.within_nodes;
    return call;
}

// Who was selected may turn out not to be able to: with what was gathered, with a wrong plan, or
// without memory.
Decision decide(CollectiveFile const& file, Request const& request, Proposal const& agreed,
                CallSelection& selecting, CallRecord& record) {
    auto const asked = facts_of(agreed, file, request);
    auto selection = selecting.begin(asked);
    compare_calls(file.team, file.options, request, asked, file.layout, selection);
    auto const facts = file.gathered.complete(asked, *selection.strategy, *selection.options,
                                              agreed.as_gathered, file.team, request);
    if (selection.strategy->gathers != Gathers::nothing)
        if (auto const refusal = ask(*selection.strategy, selection.strategy->unfit, facts);
            !refusal.empty())
            selection = selecting.begin_instead(facts, refusal);
    record.lap(Phase::waiting);
    auto call = planned(selection, facts, agreed);
    compare_plans(file.team, file.options, facts, call.plan);
    if (auto const fault = refuse_plan(file.options, facts, *selection.strategy, call.plan);
        !fault.empty()) {
        selection = selecting.begin_instead(facts, fault);
        call = planned(selection, facts, agreed);
    }
    if (!prepare_cache(call, agreed.cache.drain, file, record)) {
        selection = selecting.begin_instead(facts, "no shared memory for the collective buffers");
        call = planned(selection, facts, agreed);
    }
    record.lap(Phase::other);
    return {selection, std::move(call)};
}

Outcome have_mpi_do_it(CollectiveFile const& file, Outcome outcome, CallRecord& record) {
    outcome.native = true;
    outcome.native_failed = !file.native();
    record.lap(Phase::native);
    return outcome;
}

// Data bytes of the request that lie before the first file byte that anybody missed.
std::uint64_t bytes_before(Request const& request, std::uint64_t stopped_at) {
    if (stopped_at == IoResult::nowhere || request.positions.empty())
        return request.positions.bytes();
    return within(request.view, request.positions, {0, stopped_at}).bytes();
}

// Small calls, beside which a meeting takes long; not those that may be about to go to memory.
bool may_go_alone_unasked(Facts const& facts, Options const& options) {
    constexpr std::uint64_t rank_bytes_most = 256 << 10;
    auto const ranks = facts.topology->ranks();
    return across_calls(options, facts.direction) == Switch::automatic && facts.pieces <= ranks &&
           facts.bytes <= ranks * rank_bytes_most &&
           (facts.direction == Direction::read || options.write_behind_bytes == 0);
}

// Each rank may do calls like this one by itself, and tell the others of errors later. What it
// moves is in the file at once.
bool may_go_alone(PlannedCall const& call, CollectiveFile const& file) {
    return call.facts.bytes > 0 && AheadOfAgreement::suits(call.plan) &&
           !pages_must_not_be_shared(call.facts) &&
           (across_calls(file.options, call.facts.direction) == Switch::enable ||
            may_go_alone_unasked(call.facts, file.options));
}

// The next calls need no agreement if they go on like this one.
void open_window(PlannedCall const& call, CollectiveFile const& file, Proposal const& agreed,
                 CallRecord& record) {
    auto const& options = file.options;
    if (file.cache == nullptr || options.check != "none") return;
    auto const wanted = across_calls(options, call.facts.direction) != Switch::disable;
    if (call.plan.way == Plan::Way::cached && wanted)
        file.cache->open_window(call.facts, agreed.cache, record);
    else if (may_go_alone(call, file))
        file.cache->open_direct_window(call.facts, agreed.cache, file.tuner.choice());
}

// What went past the buffers may be the first of calls that repeat (Facts::repeats).
void note_past_cache(PlannedCall const& call, CollectiveFile const& file, Request const& request,
                     CallRecord const& record) {
    auto const may_deposit = file.storage.write_only && !file.storage.local;
    if (file.cache != nullptr && call.plan.way != Plan::Way::cached &&
        (may_deposit || may_go_alone(call, file)))
        file.cache->note_call(request, record);
}

Outcome carry_out(Decision const& decision, CollectiveFile const& file, Request const& request,
                  Proposal const& agreed, Outcome outcome, CallRecord& record) {
    auto const& call = decision.call;
    note_past_cache(call, file, request, record);
    if (agreed.selection.done_ahead && AheadOfAgreement::suits(call.plan)) {
        outcome.bytes = request.positions.bytes();
    } else {
        auto const performed = perform(call, file, request, record);
        outcome.verdict = agree_after(file, performed, record);
        outcome.bytes = call.plan.way == Plan::Way::direct
                            ? performed.mine.bytes
                            : bytes_before(request, outcome.verdict.stopped_at);
    }
    if (outcome.verdict.code == 0 && decision.selection.lasting)
        open_window(call, file, agreed, record);
    if (call.plan.way == Plan::Way::cached) file.cache->finish_call(call.facts, record);
    return outcome;
}

// Calls that are measured begin when all ranks have met.
void note_for_ahead(AheadOfAgreement& ahead, Direction direction, Plan const& plan,
                    CallSelection const& selecting) {
    if (selecting.examined_class())
        ahead.forget(direction);
    else
        ahead.note(direction, plan);
}

std::uint64_t gate_waits(Storage const& storage) {
    return storage.gate == nullptr ? 0 : storage.gate->waits();
}

// At the end of the file: what it took is not the time of what was asked for.
bool cut_short(std::uint64_t stopped_at) { return stopped_at != IoResult::nowhere; }

Outcome select_and_perform(CollectiveFile const& file, Request const& request,
                           Proposal const& agreed, CallSelection& selecting, CallRecord& record) {
    auto const waits_before = gate_waits(file.storage);
    auto const decision = decide(file, request, agreed, selecting, record);
    auto const& [selection, call] = decision;
    if (file.ahead != nullptr) note_for_ahead(*file.ahead, request.direction, call.plan, selecting);
    Outcome outcome{.strategy = selection.strategy->name,
                    .why = selection.why,
                    .refusal_of_strategy = selection.refusal,
                    .aggregators = call.plan.aggregators.size(),
                    .examined = selecting.examined_class()};
    outcome = call.plan.way == Plan::Way::native
                  ? have_mpi_do_it(file, outcome, record)
                  : carry_out(decision, file, request, agreed, outcome, record);
    record.lap(Phase::other);
    if (outcome.verdict.code == 0)
        selecting.end(record.whole_s() - record[Phase::arrival],
                      agreed.selection.done_ahead || outcome.native_failed ||
                          cut_short(outcome.verdict.stopped_at) ||
                          gate_waits(file.storage) != waits_before);
    return outcome;
}

Outcome agree_and_perform(CollectiveFile const& file, Request const& request,
                          CallerFacts const& caller, CallRecord& record) {
    auto const agreed = agree_before(file, request, caller, record);
    CallSelection selecting{file.tuner, file.options, agreed.selection.last_seconds,
                            file.storage_key};
    auto const& [refused, first, new_hints] = agreed.since_view;
    if (new_hints) return {.new_hints = true};
    if (refused > 0 && refused < file.team.topology().ranks())
        return {
            .refusal = first.refusal, .refusing_rank = first.refusing_rank, .views_differ = true};
    auto const& [refusal, refusing_rank, must_be_native] = agreed.objection;
    if (refusal != 0) return {.refusal = refusal, .refusing_rank = refusing_rank};
    if (must_be_native)
        return have_mpi_do_it(file,
                              {.strategy = "native",
                               .why = "some rank cannot access the file, or its view, by itself"},
                              record);
    if (agreed.device.any)
        return perform_through_host(file, request, agreed.device.host_windows, record);
    return select_and_perform(file, request, agreed, selecting, record);
}

Outcome checked_call(CollectiveFile const& file, Request const& request, CallerFacts const& caller,
                     CallRecord& record) {
    try {
        return agree_and_perform(file, request, caller, record);
    } catch (CheckFailed const& failed) {
        return {.fault = failed.what()};
    }
}

// A call between this rank and the open buffers, or the file: nobody is met, so errors are this
// rank's own.
Outcome perform_in_window(CollectiveFile const& file, Request const& request,
                          Objection const& objection, CallRecord& record) {
    auto& cache = *file.cache;
    auto const waits_before = gate_waits(file.storage);
    auto const direct = cache.window_is_direct();
    cache.begin_in_window();
    if (objection.refusal != 0)
        return {
            .refusal = objection.refusal, .refusing_rank = objection.refusing_rank, .local = true};
    assert(!objection.must_be_native);
    auto const writes = request.direction == Direction::write;
    auto const move = [&](Request const& part) {
        return writes ? cache.deposit(part, record) : cache.withdraw(part, record);
    };
    auto const result = request.device == nullptr
                            ? move(request)
                            : perform_through_host(request, file.options, record, move);
    if (cache.as_foreseen() && !result.error)
        file.tuner.add(cache.window_choice(), record.whole_s(),
                       cut_short(result.stopped_at) || gate_waits(file.storage) != waits_before);
    return {.local = true,
            .bytes = result.bytes,
            .verdict = result.error ? Verdict{result, file.team.rank()} : Verdict{},
            .strategy = direct ? independent.name : view_based.name,
            .why = direct   ? "by itself: as the call before it"
                   : writes ? "deposited: as the write before it"
                            : "read ahead: as the read before it"};
}

}  // namespace

Outcome perform_collective(CollectiveFile const& file, Request const& request,
                           CallerFacts const& caller, CallRecord& record) {
    record.lap(Phase::other);  // of the caller, looking at what is asked for
    auto const before = file.team.traffic();
    auto const alone = file.cache != nullptr && file.cache->in_window(request.direction);
    if (!alone && file.cache != nullptr) {
        // What others have written by themselves is there when they have met.
        if (file.ahead != nullptr && file.cache->writes_in_window())
            file.ahead->forget(Direction::read);
        // Before the ranks meet: who is waited for may wait for its data to be taken.
        file.cache->end_window();
        if (request.direction == Direction::read) file.cache->begin_reading();
        record.lap(Phase::exchange);
    }
    auto outcome = alone ? perform_in_window(file, request, caller.objection, record)
                         : checked_call(file, request, caller, record);
    record.traffic = file.team.traffic() - before;
    return outcome;
}

}  // namespace unisono
