#include "interpose/pending.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "execute/direct.hpp"
#include "interpose/alone.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/mail_carrier.hpp"
#include "interpose/open_files.hpp"
#include "interpose/operations.hpp"

namespace unisono::interpose {
namespace {

using Stage = PendingCall::Stage;

int query(void* state, MPI_Status* status) {
    set_count(status, static_cast<PendingCall*>(state)->bytes);
    return MPI_SUCCESS;
}

// The call itself lives until it is over, too.
int release(void* state) {
    static_cast<PendingCall*>(state)->released = true;
    return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }

// Of a write that failed.
Verdict lost_by(PendingCall const& call, std::uint32_t rank) {
    auto lost = call.outcome.verdict;
    if (lost.code == 0) return {IoResult{.error = {EIO, "write", Error::whole_file}}, rank};
    if (lost.lost_end != 0) return lost;  // of its own part
    auto const& request = call.prepared.request;
    lost.lost_end = touched(request.view, request.positions).end;
    lost.lost_bytes = request.positions.bytes() - call.outcome.bytes;
    return lost;
}

// Of a write that has failed: where others do not know, or nobody waits for it.
void tell_later(PendingCall& call, File& file) {
    auto const lost = call.call.direction == Direction::write && call.code != MPI_SUCCESS;
    if (lost && !call.told_later.exchange(true)) file.note_lost(lost_by(call, file.team().rank()));
}

// Who finds that it is over finds that it is told, too.
void end_and_tell(PendingCall& call, bool others_do_not_know) {
    auto const file = call.file;
    if (others_do_not_know || call.freed) tell_later(call, *file);
    call.end();
    if (call.freed) tell_later(call, *file);  // meanwhile
}

void conclude(PendingCall& call) {
    auto const file = call.file;
    call.bytes = deliver(call.prepared, call.call, call.outcome.bytes);
    call.code = call.difference.empty()
                    ? code_of(*file, call.call, call.prepared, call.outcome)
                    : code_of(*file, call.call, MPI_ERR_NOT_SAME, call.difference, Told::all_ranks);
    end_and_tell(call, /*others_do_not_know=*/false);
}

// The other ranks, if there are any, have a success.
void do_refused(PendingCall& call) {
    do_own_part(call);
    end_and_tell(call, call.file->context().ranks() > 1);
}

// All ranks begin a file's collective calls in the same order, so that these count, too.
void note_begun(PendingCall& pending) {
    auto& file = *pending.file;
    pending.number = file.next_call();
    if (file.context().threaded()) return;
    auto& note = file.team().rendezvous().note();
    note.enter(call_tag(file.number(), pending.call.operation), pending.number,
               static_cast<std::uint64_t>(pending.prepared.first));
    note.leave();
}

// The call begins where the pointer was.
void move_pointer_past(PendingCall& pending) {
    auto const& call = pending.call;
    auto& file = *pending.file;
    auto& prepared = pending.prepared;
    if (prepared.refusal != 0) return;
    auto const first =
        call.offset ? *call.offset : file.advance_pointer(etypes_asked(prepared, call));
    place(prepared, first);
    if (prepared.refusal != 0 && !call.offset) file.set_pointer(first);
}

}  // namespace

PendingCall::PendingCall(std::shared_ptr<File> of, DataCall with, Prepared translated)
    : file{std::move(of)},
      threaded{file->context().threaded()},
      call{with},
      prepared{std::move(translated)} {
    if (call.type != MPI_DATATYPE_NULL && !predefined(call.type))
        PMPI_Type_dup(with.type, &call.type);
}

void PendingCall::finish(Stage with) {
    stage = with;
    auto& all = PendingCalls::all();
    std::lock_guard const lock{all.done_mutex_};
    all.done_.notify_all();
}

void PendingCall::end() {
    if (call.type != MPI_DATATYPE_NULL && !predefined(call.type)) PMPI_Type_free(&call.type);
    prepared.packed = {};
    file.reset();
    stage = Stage::over;
}

void SeenWaiting::wait_for(PendingCall const* call) {
    // Another thread may end the call meanwhile, where there is one.
    auto const seen =
        call != nullptr && call->number != 0 && !call->threaded && call->stage == Stage::helped;
    if (!seen) return leave();
    auto& team = call->file->team();
    auto& rendezvous = team.rendezvous();
    if (note_ != &rendezvous.note()) {
        leave();
        note_ = &rendezvous.note();
        context_ = call->file->shared_context();
        before_ = rendezvous.seen(rendezvous.local_index());
    }
    note_->enter(call_tag(call->file->number(), call->call.operation), call->number,
                 static_cast<std::uint64_t>(call->prepared.first));
    team.look_around();
}

void SeenWaiting::leave() {
    if (note_ != nullptr) note_->return_to(before_);
    note_ = nullptr;
}

SeenWaiting::~SeenWaiting() { leave(); }

std::shared_ptr<PendingCall> begin_beside(std::shared_ptr<File> const& file, DataCall const& call,
                                          bool collective) {
    CallRecord record;
    auto prepared = prepare(*file, call, Ends::later);
    if (prepared.request.device != nullptr || file->by_mpi()) prepared.usable = false;
    // For which there may be no memory: nothing has been done then.
    auto pending = std::make_shared<PendingCall>(file, call, std::move(prepared));
    move_pointer_past(*pending);
    if (collective && call.direction == Direction::write) file->durability().note_written();
    record.lap(Phase::other);
    file->record([&](FileReport& report) { add_call(report[call.direction], record); });
    if (collective && call.direction == Direction::write && file->storage().mappable_write)
        pending->file_bytes = file_bytes_of(file->storage());
    if (collective) tell_of_writes_in_memory(*file, call);
    if (collective && file->context().ranks() > 1) note_begun(*pending);
    return pending;
}

void move_on(PendingCall& call) {
    if (call.stage == Stage::done) conclude(call);
    if (call.stage == Stage::refused) do_refused(call);
}

// Another thread may be about to conclude it: one of both sees that it is over and freed.
void note_freed(PendingCall& call) {
    call.freed = true;
    if (call.stage != Stage::over) return;
    if (auto const file = find(call.call.handle)) tell_later(call, *file);
}

PendingCalls& PendingCalls::all() {
    static auto* const calls = new PendingCalls;  // a call may be on its way until the very end
    return *calls;
}

int PendingCalls::add(std::shared_ptr<PendingCall> const& call, MPI_Request* request) {
    std::lock_guard const lock{mutex_};
    calls_.push_back(call);
    auto const result = PMPI_Grequest_start(query, release, cancel, call.get(), &call->request);
    if (result == MPI_SUCCESS)
        *request = call->request;
    else
        calls_.pop_back();
    count_ = calls_.size();
    return result;
}

void PendingCalls::move_on() {
    MailCarrier::carry_if_any();
    for (auto const& call : move_on_quick_ones()) {
        do_refused(*call);
        PMPI_Grequest_complete(call->request);
    }
}

// Returns those that are no quick ones, each to one thread: while they are done, others may go on.
std::vector<std::shared_ptr<PendingCall>> PendingCalls::move_on_quick_ones() {
    std::vector<std::shared_ptr<PendingCall>> others;
    std::unique_lock const lock{mutex_, std::try_to_lock};
    if (!lock) return others;  // another thread does
    for (auto const& call : calls_) {
        if (call->stage == Stage::refused) {
            others.push_back(call);
            call->stage = Stage::begun;
        }
        if (call->stage != Stage::done) continue;
        conclude(*call);
        PMPI_Grequest_complete(call->request);
    }
    std::erase_if(calls_,
                  [](auto const& call) { return call->stage == Stage::over && call->released; });
    count_ = calls_.size();
    return others;
}

std::vector<std::shared_ptr<PendingCall>> PendingCalls::of(
    std::span<MPI_Request const> requests) const {
    std::lock_guard const lock{mutex_};
    std::vector<std::shared_ptr<PendingCall>> found;
    for (auto const request : requests) {
        auto const call = std::ranges::find_if(
            calls_, [&](auto const& one) { return one->request == request && !one->released; });
        found.push_back(call == calls_.end() ? nullptr : *call);
    }
    return found;
}

void PendingCalls::Waiting::for_a_moment() {
    constexpr std::chrono::microseconds moment{50};
    if (MailCarrier::any()) {  // messages come at any time
        MailCarrier::carry_all();
        sched_yield();
        return;
    }
    auto& calls = all();
    std::unique_lock lock{calls.done_mutex_};
    calls.done_.wait_for(lock, moment);
}

}  // namespace unisono::interpose
