#include "interpose/transfer.hpp"

#include <cerrno>
#include <new>
#include <string>

#include "devices/device_memory.hpp"
#include "execute/agree.hpp"
#include "execute/direct.hpp"
#include "execute/through_host.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/file_calls.hpp"
#include "interpose/hints.hpp"
#include "interpose/in_call.hpp"
#include "interpose/lone_handle.hpp"
#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "interpose/nonblocking.hpp"
#include "interpose/numbers.hpp"
#include "interpose/program.hpp"
#include "strategies/all.hpp"

namespace unisono::interpose {
namespace {

// For a report.
constexpr auto const* by_shared_pointer = "shared file pointer";
constexpr auto const* nonblocking_by_mpi = "nonblocking call that Unisono cannot do";

Needs needs_of_collective(DataCall const& call) {
    return {.pointer = !call.offset, .collective = true, .data = true};
}

constexpr Needs needs_of_ordered{.collective = true, .data = true};

Needs needs_of_independent(DataCall const& call) { return {.pointer = !call.offset, .data = true}; }

// The same operation as a collective call that Unisono does not do itself.
int pass_data_on(File& file, DataCall const& call, NativeCall const& native,
                 std::uint64_t bytes = 0) {
    return pass_on(file.handle(), needs_of_collective(call), call.name(), native, bytes);
}

// Where there is one, of a collective call that is not Unisono's to do. `has_place`: it is not by
// the shared pointer.
void add_to_recording(File& file, DataCall const& call, bool has_place) {
    if (!has_place) return file.record([](FileReport& report) { report.recording.add_unknown(); });
    bool kept = false;
    file.record([&](FileReport& report) { kept = report.recording.kept(); });
    if (!kept) return;
    auto prepared = prepare(file, call, Ends::later);
    if (prepared.refusal == 0) place(prepared, call.offset ? *call.offset : file.pointer());
    file.record([&](FileReport& report) { add_to_recording(report, prepared); });
}

int leave_to_mpi(File& file, DataCall const& call, Needs needs, char const* reason,
                 NativeCall const& native) {
    std::optional<InCall> in_call;
    if (needs.collective) in_call.emplace(file, call.operation, call.offset);
    if (needs.collective) add_to_recording(file, call, call.offset || needs.pointer);
    CallRecord record;
    auto const result = pass_on(file.handle(), needs, call.name(), native);
    record.lap(Phase::native);
    auto const bytes = result == MPI_SUCCESS ? bytes_asked(call) : 0;
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++(needs.collective ? direction.native_calls : direction.native_independent_calls)[reason];
        add_native(direction, bytes);
        add_call(direction, record, bytes);
        if (result != MPI_SUCCESS)
            ++(needs.collective ? direction.failed_calls : direction.failed_independent_calls);
    });
    if (result != MPI_SUCCESS) note_native_failure(file, call, result);
    return result;
}

// Handles of the same file, whose calls may have left something in memory.
std::vector<std::shared_ptr<CachedFile>> caches_of_others(File const& file) {
    std::vector<std::shared_ptr<CachedFile>> caches;
    for (auto const& other : opened_otherwise(file))
        if (auto cache = other->cache(); cache != nullptr && cache->in_use())
            caches.push_back(std::move(cache));
    return caches;
}

IoResult perform_independent(File const& file, Request const& request, CallRecord& record) {
    auto const others = caches_of_others(file);
    if (request.direction == Direction::read)
        for (auto const& other : others) other->settle_size();
    auto const cache = file.cache();
    auto const result = cache != nullptr
                            ? cache->perform_independent(request, record)
                            : perform_direct(request, request.positions, file.storage(), record);
    auto const begin = request.positions.begin;
    for (auto const& other : others) other->take_note_of(request, {begin, begin + result.bytes});
    return result;
}

// False where the MPI library would not see what is in memory.
bool prepare_bypass(File const& file) {
    auto possible = true;
    if (auto const cache = file.cache()) possible = cache->prepare_bypass();
    for (auto const& other : caches_of_others(file)) possible = other->prepare_bypass() && possible;
    return possible;
}

// The code of an error of this rank's; nothing is raised yet.
int own_code(File& file, DataCall const& call, int error_class, std::string const& why) {
    return code_of(file, call, error_class, why, Told::this_rank);
}

constexpr auto pointer_beyond = "the shared file pointer would be beyond 2^63 etypes";

int code_by_pointer(File& file, DataCall const& call, int error) {
    if (error == EOVERFLOW) return own_code(file, call, MPI_ERR_ARG, pointer_beyond);
    return own_code(
        file, call, error_class_of(error),
        "the shared file pointer is in a hidden file beside it, which cannot be used: " +
            describe_errno(error));
}

/// What says where a call begins that has no offset. The individual pointer is left behind what was
/// moved, or, by nonblocking calls, behind what was asked for.
enum class Pointer : std::uint8_t { individual, individual_at_start, shared };

struct Alone {
    int code = MPI_SUCCESS;   // nothing was raised yet
    std::uint64_t bytes = 0;  // moved, as the file has them
    Verdict lost;             // of a write
};

Alone perform_alone(File& file, DataCall const& call, Pointer pointer, MPI_Status* status) {
    CallRecord record;
    auto prepared = prepare(file, call, Ends::at_return);
    auto const& view = *prepared.view;
    if (!prepared.usable && prepared.refusal == 0 && view.usable && view.kept_back)
        pack(prepared, call);
    if (prepared.refusal != 0) return {own_code(file, call, prepared.refusal, prepared.why)};
    if (!prepared.usable)
        return {own_code(file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                         "Unisono cannot do it, and the MPI library has no such view yet")};
    auto const asked = prepared.request.positions.bytes();
    auto const asked_etypes = etypes_of(prepared, asked);
    SharedPointer::Value begin{call.offset.value_or(0)};
    if (pointer == Pointer::shared)
        begin = file.shared_pointer().advance(asked_etypes);
    else if (!call.offset)
        begin.etypes = file.advance_pointer(asked_etypes);
    if (begin.error != 0) return {code_by_pointer(file, call, begin.error)};
    place(prepared, begin.etypes);
    if (prepared.refusal != 0) {
        if (!call.offset && pointer != Pointer::shared) file.set_pointer(begin.etypes);
        return {own_code(file, call, prepared.refusal, prepared.why)};
    }
    auto const& request = prepared.request;
    if (request.direction == Direction::write) file.note_written();
    auto const perform = [&](Request const& part) {
        return perform_independent(file, part, record);
    };
    record.lap(Phase::other);
    auto const result = request.device == nullptr
                            ? perform(request)
                            : perform_through_host(request, file.options(), record, perform);
    if (!call.offset && pointer == Pointer::individual && result.bytes != asked)
        file.set_pointer(prepared.first + etypes_of(prepared, result.bytes));
    set_count(status, deliver(prepared, call, result.bytes));
    record.lap(Phase::other);
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++direction.independent_calls;
        direction.independent_time.add(record.whole_s());
        add_request(direction, request);
        add_call(direction, record, asked);
    });
    if (!result.error) return {.bytes = result.bytes};
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    return {own_code(file, call, error_class_of(result.error.code), describe({result, rank})),
            result.bytes, lost_in(request, result, rank)};
}

bool in_window(File const& file, Direction direction) {
    auto const cache = file.cache();
    return cache != nullptr && cache->in_window(direction);
}

CollectiveFile collective_file(File& file, std::function<bool()> native) {
    auto& team = file.team();
    // Ranks that are in other calls hear of it here; in a broadcast all would wait for ever.
    if (Notice notice; !file.knows_layout()) team.rendezvous().meet(notice);
    auto const& options = file.call_options();
    return {.team = team,
            .rendezvous = team.rendezvous(),
            .storage = file.storage(),
            .layout = file.layout(),
            .options = options,
            .tuner = file.context().tuner(),
            .gathered = file.gathered(),
            .cache = file.make_cache().get(),
            .storage_key = OnlineTuner::possible(options) ? file.storage_key() : 0,
            .native = std::move(native),
            .ahead = &file.ahead()};
}

// The MPI library can do independent calls with views that Unisono cannot walk, and may with memory
// that it cannot copy.
bool native_must_do(File const& file, DataCall const& call) {
    // Memory that the CPU cannot access is copied part by part: not at once.
    if (!file.taken_over() || (file.atomic() && any_driver())) return true;
    auto const view = file.view();
    if (view->usable && file.storage().backend != nullptr) {
        if (call.type == MPI_DATATYPE_NULL || call.count <= 0) return false;
        int mpi_error = MPI_SUCCESS;
        auto const type = decode(call.type, &mpi_error);
        if (type == nullptr) return mpi_error == MPI_ERR_UNSUPPORTED_OPERATION && !view->kept_back;
        return (any_driver() || view->external32()) && out_of_reach(*view, call, *type);
    }
    return view->mirrored;
}

// An independent call, unless the MPI library has to do it.
std::optional<Alone> perform_held(File& file, DataCall const& call, Pointer pointer,
                                  MPI_Status* status) {
    auto const held = file.hold();
    auto const natively =
        pointer == Pointer::shared ? !file.view()->kept_back : native_must_do(file, call);
    if (natively) return {};
    return perform_alone(file, call, pointer, status);
}

/// What a nonblocking call that is over already says when it is waited for.
struct Completed {
    MPI_Status status{};
};

int query_completed(void* state, MPI_Status* status) {
    *status = static_cast<Completed*>(state)->status;
    return MPI_SUCCESS;
}

int free_completed(void* state) {
    delete static_cast<Completed*>(state);
    return MPI_SUCCESS;
}

MPI_Count bytes_of(MPI_Status const& status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return bytes;
}

// Of a file whose data calls Unisono does not do; for a report. Equal on all ranks.
char const* why_not_taken_over(File const& file) {
    return file.view()->known_representation() ? "atomic mode" : "data representation";
}

// Unisono does its ordered calls. Equal on all ranks.
bool orders(File const& file) { return file.taken_over() && !file.view()->native_only; }

// Equal on all ranks.
bool can_overlap(File const& file) {
    return !file.view()->native_only && file.call_options().strategy != native.name &&
           NonblockingCalls::possible(file);
}

// Calls that may be over with a copy had better not be handed to another thread.
bool may_deposit(Options const& options) {
    return options.write_behind == Switch::enable || options.strategy == view_based.name;
}

// Buffers that live across calls hold data. All ranks alike.
bool has_data_in_blocks(File const& file) {
    auto const cache = file.cache();
    return cache != nullptr && cache->in_use();
}

// Handing a call to another thread takes as long as copying some 100 KiB.
bool gains_from_overlap(File const& file, DataCall const& call) {
    constexpr std::uint64_t large = 256 * 1024;
    return file.options().overlap != Switch::disable && !file.by_mpi() &&
           !has_data_in_blocks(file) && caches_of_others(file).empty() && call.count > 0 &&
           call.type != MPI_DATATYPE_NULL && bytes_asked(call) >= large && !any_driver();
}

// MPI asks for a sync here, and without one the call would find all that was written elsewhere.
void tell_of_writes_in_memory(File const& file, DataCall const& call) {
    if (file.context().rank() != 0) return;
    for (auto const& other : opened_otherwise(file))
        if (other->holds_writes())
            print_once({"unisono: " + file.path() + " is open twice, and " + call.name() +
                        " by one handle knows nothing of what collective calls by the other have "
                        "left in memory: call MPI_File_sync before"});
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

// The program's part of a call that goes on beside it.
std::shared_ptr<PendingCall> begin(std::shared_ptr<File> const& file, DataCall const& call,
                                   bool collective) {
    CallRecord record;
    auto prepared = prepare(*file, call, Ends::later);
    auto& request = prepared.request;
    if (request.device != nullptr || file->by_mpi()) prepared.usable = false;
    if (prepared.refusal == 0) {
        auto const first =
            call.offset ? *call.offset : file->advance_pointer(etypes_asked(prepared, call));
        place(prepared, first);
        if (prepared.refusal != 0 && !call.offset) file->set_pointer(first);
    }
    if (call.direction == Direction::write) file->note_written();
    record.lap(Phase::other);
    file->record([&](FileReport& report) { add_call(report[call.direction], record); });
    auto pending = std::make_shared<PendingCall>(file, call, std::move(prepared));
    if (collective && call.direction == Direction::write && file->storage().mappable_write)
        pending->file_bytes = file_bytes_of(file->storage());
    if (collective) tell_of_writes_in_memory(*file, call);
    if (collective && file->context().ranks() > 1) note_begun(*pending);
    return pending;
}

// A collective call that all ranks are in. Its time goes on from `record`.
int collective_on(File& file, DataCall const& call, Prepared& prepared, CallRecord& record,
                  MPI_Status* status, NativeCall const& native) {
    if (!prepared.usable && prepared.refusal == 0 && in_window(file, call.direction))
        pack(prepared, call);
    if (prepared.refusal == 0) place(prepared, call.offset ? *call.offset : file.pointer());
    if (call.direction == Direction::write) file.note_written();
    tell_of_writes_in_memory(file, call);
    int native_result = MPI_SUCCESS;
    auto caller = caller_facts(file, prepared);
    caller.since_view.new_hints = file.take_new_hints();
    auto const outcome = perform_collective(
        collective_file(file,
                        [&] {
                            native_result = pass_data_on(file, call, native,
                                                         prepared.request.positions.bytes());
                            return native_result == MPI_SUCCESS;
                        }),
        prepared.request, caller, record);
    if (outcome.new_hints) {
        pass_hints_on(file);
        take_hints(file);
        prepared = prepare(file, call, Ends::at_return);
        return collective_on(file, call, prepared, record, status, native);
    }
    record_collective(file, prepared, outcome, record);
    if (outcome.native_failed) note_native_failure(file, call, native_result);
    if (outcome.native) return native_result;
    set_count(status, deliver(prepared, call, outcome.bytes));
    if (!call.offset && outcome.tried())
        file.set_pointer(prepared.first + etypes_of(prepared, outcome.bytes));
    return raise(file.handle(), code_of(file, call, prepared, outcome));
}

// This rank's.
CallArguments arguments_of(File& file, DataCall const& call, Prepared const& prepared) {
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    CallArguments mine{.objection = {.refusal = prepared.refusal, .refusing_rank = rank}};
    if (prepared.refusal == 0) {
        auto const bytes =
            prepared.type != nullptr ? prepared.request.positions.bytes() : bytes_asked(call);
        mine.etypes = bytes / prepared.view->etype_bytes;
    }
    mine.begin = known_shared_pointer(file, mine.objection);
    if (!file.view()->mirrored) mine.objection.must_be_native = !file.view()->usable;
    return mine;
}

/// Where a rank's part of an ordered call begins.
struct OrderedBegin {
    std::optional<MPI_Offset> offset;  ///< none: the MPI library has to do the call
    int code = MPI_SUCCESS;            ///< else there is no call; the error handler has seen it
};

// Moves the shared file pointer past what all ranks ask for, before anything else is
// done: so nobody can come to it too early. Collective.
OrderedBegin advance_shared_pointer(File& file, DataCall const& call, Prepared& prepared) {
    auto all = arguments_of(file, call, prepared);
    auto const mine = all.etypes;
    if (file.context().ranks() > 1) file.team().rendezvous().meet(all);
    if (auto const lost = refuse_lost_pointer(file, all, call.name()); lost != MPI_SUCCESS)
        return {.code = lost};
    if (all.objection.must_be_native) return {};
    MPI_Offset end = 0;
    if (__builtin_add_overflow(all.begin, all.etypes, &end))
        refuse(prepared, MPI_ERR_ARG, pointer_beyond);
    if (all.objection.refusal != 0 || prepared.refusal != 0) {
        // All refuse it then; in a window only the rank that has the wrong argument would.
        if (auto const cache = file.cache()) cache->end_window();
        return {.offset = all.begin};
    }
    if (all.etypes == 0) return {.offset = all.begin};
    if (!file.view()->mirrored)
        file.set_shared_pointer(end);
    else if (auto const code = move_native_shared_pointer(file, end, call.name());
             code != MPI_SUCCESS)
        return {.code = code};
    return {.offset = all.begin + static_cast<MPI_Offset>(file.context().sum_before(mine))};
}

}  // namespace

int transfer_collective(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (!file->taken_over())
        return leave_to_mpi(*file, call, needs_of_collective(call), why_not_taken_over(*file),
                            native);
    InCall const in_call{*file, call.operation, call.offset ? *call.offset : file->pointer()};
    CallRecord record;
    auto prepared = prepare(*file, call, Ends::at_return);
    return collective_on(*file, call, prepared, record, status, native);
}

int transfer_ordered(DataCall const& call, MPI_Status* status, OrderedCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native.ordered();
    if (!orders(*file))
        return leave_to_mpi(*file, call, needs_of_ordered, by_shared_pointer, native.ordered);
    InCall const in_call{*file, call.operation};
    CallRecord record;
    auto prepared = prepare(*file, call, Ends::at_return);
    auto placed = call;
    auto const begin = advance_shared_pointer(*file, call, prepared);
    placed.offset = begin.offset;
    record.lap(Phase::waiting);
    if (begin.code != MPI_SUCCESS) return begin.code;
    if (!placed.offset) return pass_on(call.handle, needs_of_ordered, call.name(), native.ordered);
    return collective_on(*file, placed, prepared, record, status,
                         [&] { return native.at(*placed.offset, status); });
}

namespace {

// The file pointer is where the call has left it when it began.
bool left_the_pointer(File const& file, PendingCall const& pending) {
    auto const& prepared = pending.prepared;
    return !pending.call.offset && prepared.refusal == 0 &&
           file.pointer() == prepared.first + etypes_asked(prepared, pending.call);
}

int end_beside(File& file, PendingCall& pending, MPI_Status* status) {
    CallRecord record;
    {
        PendingCalls::Waiting const waiting;
        SeenWaiting seen;
        while (pending.stage == PendingCall::Stage::helped) {
            file.context().progress();
            seen.wait_for(&pending);
            PendingCalls::Waiting::for_a_moment();
        }
    }
    record.lap(Phase::waiting);
    file.record([&](FileReport& report) { add_call(report[pending.call.direction], record); });
    auto const left = left_the_pointer(file, pending);
    move_on(pending);
    if (left)
        file.set_pointer(pending.prepared.first +
                         etypes_of(pending.prepared, pending.outcome.bytes));
    set_count(status, pending.bytes);
    return raise(file.handle(), pending.code);
}

File::SplitCall begun(DataCall const& begin, int result, bool passed_on, MPI_Status const& status) {
    File::SplitCall call{.operation = begin.operation, .begun = result == MPI_SUCCESS};
    if (!passed_on) call.bytes = bytes_of(status);
    return call;
}

// The class is that of the library's own.
int refuse_split(File& file, std::uint16_t operation, std::string const& why) {
    auto const mpich = mpi_library().family == MpiLibrary::Family::mpich;
    return fail(file, mpich ? MPI_ERR_IO : MPI_ERR_REQUEST, operation_name(operation), why);
}

int refuse_second_split(File& file, DataCall const& call) {
    return refuse_split(file, call.operation,
                        "a split call has begun and not ended: a file has one at a time");
}

}  // namespace

int transfer_independent(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const done = perform_held(*file, call, Pointer::individual, status))
        return raise(call.handle, done->code);
    return leave_to_mpi(*file, call, needs_of_independent(call),
                        "independent call that Unisono cannot do", native);
}

namespace {

Alone perform_alone_natively(File& file, DataCall const& call, MPI_Status* status) {
    if (file.view()->native_layout_differs || !prepare_bypass(file))
        return {own_code(file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                         "the MPI library would have to do it, and has such data elsewhere")};
    if (call.direction == Direction::write) file.note_native();
    CallRecord record;
    Alone done;
    {
        UnderWay const access{file.io_counts()};
        done.code = call_alone(file, call, status);
    }
    record.lap(Phase::native);
    done.bytes = static_cast<std::uint64_t>(bytes_of(*status));
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++direction.native_independent_calls[nonblocking_by_mpi];
        direction.failed_independent_calls += done.code != MPI_SUCCESS;
        add_native(direction, done.bytes);
        add_call(direction, record, done.bytes);
    });
    if (done.code != MPI_SUCCESS) note_native_failure(file, call, done.code);
    return done;
}

Alone perform_own_part(File& file, DataCall const& call, PendingCall const& pending,
                       MPI_Status* status) {
    auto const& storage = file.storage();
    if (storage.backend == nullptr || native_must_do(file, call))
        return perform_alone_natively(file, call, status);
    auto const shared = call.direction == Direction::write && storage.page_cached &&
                        file.team().topology().nodes() > 1;
    PageLock const pages{pending.prepared.request, storage, shared};
    auto const error = pages.error();
    if (!error) return perform_alone(file, call, Pointer::individual, status);
    return {own_code(file, call, error_class_of(error.code),
                     "its pages cannot be locked: " + describe_errno(error.code))};
}

// The other ranks have a success, and hear of this one at the next sync or close.
void note_lost(File& file, DataCall const& call, Alone const& done) {
    if (done.code == MPI_SUCCESS || call.direction == Direction::read) return;
    Error const unknown{EIO, "write", Error::whole_file};
    file.note_lost(done.lost.code != 0 ? done.lost
                                       : Verdict{IoResult{.error = unknown}, file.team().rank()});
}

}  // namespace

void do_own_part(PendingCall& pending) {
    auto& file = *pending.file;
    auto call = pending.call;
    call.offset = pending.prepared.first;
    file.record([&](FileReport& report) { add_to_recording(report, pending.prepared); });
    MPI_Status status{};
    auto const done = [&] {
        auto const held = file.hold();
        return perform_own_part(file, call, pending, &status);
    }();
    note_lost(file, call, done);
    pending.told_later = true;
    pending.code = done.code;
    pending.outcome.bytes = done.bytes;
    pending.bytes = static_cast<std::uint64_t>(bytes_of(status));
    pending.end();
}

int transfer_shared(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const done = perform_held(*file, call, Pointer::shared, status))
        return raise(call.handle, done->code);
    return leave_to_mpi(*file, call, {.data = true}, by_shared_pointer, native);
}

namespace {

// Whose a call is that a rank does by itself.
enum class Whose : bool { own, part_of_collective };

// A nonblocking call that is over when it returns.
int complete_at_once(File& file, DataCall const& call, Pointer pointer, Whose whose,
                     MPI_Request* request) {
    auto completed = std::make_unique<Completed>();
    auto const done = [&] {
        auto const held = file.hold();
        return perform_alone(file, call, pointer, &completed->status);
    }();
    if (whose == Whose::part_of_collective) file.note_lost(done.lost);
    if (done.code != MPI_SUCCESS) return raise(file.handle(), done.code);
    PMPI_Grequest_start(
        query_completed, free_completed, [](void*, int) -> int { return MPI_SUCCESS; },
        completed.release(), request);
    return PMPI_Grequest_complete(*request);
}

int begin_alone(std::shared_ptr<File> const& file, DataCall const& call, Whose whose,
                MPI_Request* request, NativeCall const& native) {
    auto held = file->hold();
    if (native_must_do(*file, call)) {
        held = {};
        return leave_to_mpi(*file, call, needs_of_independent(call), nonblocking_by_mpi, native);
    }
    if (gains_from_overlap(*file, call)) {
        auto pending = begin(file, call, /*collective=*/false);
        if (pending->prepared.refusal == 0 && pending->prepared.usable) {
            if (auto const result = PendingCalls::all().add(pending, request);
                result != MPI_SUCCESS)
                return result;
            file->nonblocking().post_independent(std::move(pending),
                                                 whose == Whose::part_of_collective);
            return MPI_SUCCESS;
        }
        pending->end();
    }
    held = {};
    return complete_at_once(*file, call, Pointer::individual_at_start, whose, request);
}

}  // namespace

int transfer_nonblocking_shared(DataCall const& call, MPI_Request* request,
                                NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (file->view()->kept_back)
        return complete_at_once(*file, call, Pointer::shared, Whose::own, request);
    return leave_to_mpi(*file, call, {.data = true}, by_shared_pointer, native);
}

int transfer_nonblocking(DataCall const& call, MPI_Request* request, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    return begin_alone(file, call, Whose::own, request, native);
}

int transfer_nonblocking_collective(DataCall const& call, MPI_Request* request,
                                    NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    auto const needs = needs_of_collective(call);
    if (!file->taken_over())
        return leave_to_mpi(*file, call, needs, why_not_taken_over(*file), native);
    // To write what is in memory to the file would wait for others, and so would telling the MPI
    // library of the view.
    auto const overlaps = can_overlap(*file);
    if (!overlaps) file->note_native_nonblocking();
    if (has_data_in_blocks(*file) || (!overlaps && file->view()->kept_back)) {
        add_to_recording(*file, call, /*has_place=*/true);
        return begin_alone(file, call, Whose::part_of_collective, request, native);
    }
    if (!overlaps) return leave_to_mpi(*file, call, needs, "nonblocking collective call", native);
    auto pending = begin(file, call, /*collective=*/true);
    if (auto const result = PendingCalls::all().add(pending, request); result != MPI_SUCCESS)
        return result;
    file->nonblocking().post(std::move(pending));
    return MPI_SUCCESS;
}

int transfer_begin_ordered(DataCall const& call, OrderedCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native.ordered();
    if (file->in_split_call()) return refuse_second_split(*file, call);
    bool passed_on = false;
    MPI_Status status{};
    auto const pass_on_ordered = [&] {
        passed_on = true;
        return native.ordered();
    };
    auto const result =
        orders(*file)
            ? transfer_ordered(
                  call, &status,
                  {pass_on_ordered,
                   [&](MPI_Offset offset, MPI_Status*) { return native.at(offset, &status); }})
            : leave_to_mpi(*file, call, needs_of_ordered, by_shared_pointer, pass_on_ordered);
    file->set_split_call(begun(call, result, passed_on, status));
    return result;
}

int transfer_begin(DataCall const& call, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (file->in_split_call()) return refuse_second_split(*file, call);
    if (file->taken_over() && can_overlap(*file) && !may_deposit(file->call_options())) {
        if (has_data_in_blocks(*file)) file->drain();  // they are not this call's own
        auto pending = begin(file, call, /*collective=*/true);
        file->set_split_call({.operation = call.operation, .beside = pending});
        file->nonblocking().post(std::move(pending));
        return MPI_SUCCESS;
    }
    bool passed_on = false;
    MPI_Status status{};
    auto const result = transfer_collective(call, &status, [&] {
        passed_on = true;
        return native();
    });
    file->set_split_call(begun(call, result, passed_on, status));
    return result;
}

int transfer_end(MPI_File handle, Direction direction, std::uint16_t operation, MPI_Status* status,
                 NativeCall const& native) {
    auto const file = find(handle);
    if (file == nullptr) return native();
    auto const* const begun_call = file->split_call();
    if (begun_call == nullptr)
        return refuse_split(*file, operation, "no split call has begun, or it has ended already");
    if (!is_end_of(begun_call->operation, operation))
        return refuse_split(*file, operation,
                            "the split call that has begun is " +
                                std::string{operation_name(begun_call->operation)});
    auto const first_half = file->take_split_call();
    if (first_half.beside != nullptr) return end_beside(*file, *first_half.beside, status);
    if (!first_half.bytes) {
        CallRecord record;
        auto const result = pass_on(handle, {.pointer = true, .collective = true},
                                    "the end of a split call", native);
        record.lap(Phase::native);
        file->record([&](FileReport& report) { add_call(report[direction], record); });
        return result;
    }
    set_count(status, static_cast<std::uint64_t>(*first_half.bytes));
    return MPI_SUCCESS;
}

MPI_Offset known_shared_pointer(File& file, Objection& objection) {
    if (!file.view()->mirrored) return file.shared_pointer().reached();
    MPI_Offset begin = 0;
    objection.must_be_native =
        UNISONO_NATIVE(File_get_position_shared)(file.handle(), &begin) != MPI_SUCCESS;
    return begin;
}

int refuse_lost_pointer(File& file, CallArguments const& agreed, char const* call) {
    if (!file.view()->mirrored || !agreed.objection.must_be_native) return MPI_SUCCESS;
    return fail(file, MPI_ERR_IO, call,
                "the MPI library cannot tell some rank where the shared file pointer is");
}

int move_native_shared_pointer(File& file, MPI_Offset etypes, char const* call) {
    auto const native = UNISONO_NATIVE(File_seek_shared)(file.handle(), etypes, numbers().seek_set);
    auto const romio = mpi_library().family == MpiLibrary::Family::mpich;
    if (romio || file.context().ranks() == 1) return native;
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    Notice moved{
        .objection = {.refusal = native == MPI_SUCCESS ? 0 : MPI_ERR_IO, .refusing_rank = rank}};
    file.team().rendezvous().meet(moved);
    if (moved.objection.refusal == 0) return MPI_SUCCESS;
    return fail(file, moved.objection.refusal, call,
                "the MPI library cannot move the shared file pointer on rank " +
                    std::to_string(moved.objection.refusing_rank));
}

int mirror_view(File& file) {
    auto const view = file.view();
    if (view->mirrored) return MPI_SUCCESS;
    auto const pointer = file.agreed_shared_pointer();
    auto const result =
        UNISONO_NATIVE(File_set_view)(file.handle(), view->displacement, view->etype,
                                      view->filetype, view->native_representation(), MPI_INFO_NULL);
    if (result != MPI_SUCCESS) return result;
    file.mark_mirrored();
    if (pointer == 0) return result;
    return move_native_shared_pointer(file, pointer, "MPI_File_seek_shared");
}

void let_go_of_view(File& file) {
    auto const view = file.view();
    if (view->mirrored) return;
    Notice notice{.defer_native_view = view->costly || view->native_layout_differs};
    if (file.context().ranks() > 1) file.team().rendezvous().meet(notice);
    if (!notice.defer_native_view) {
        mirror_view(file);
        return;
    }
    file.set_shared_pointer(file.agreed_shared_pointer());
    file.mark_not_kept_back();
}

int pass_on(MPI_File handle, Needs needs, char const* name, NativeCall const& native,
            std::uint64_t bytes) {
    auto const file = find(handle);
    if (file == nullptr) return native();
    if (needs.collective)
        file->drain();
    else if (needs.data && !prepare_bypass(*file))
        return raise(handle,
                     error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                std::string{name} + " on " + file->path() +
                                    ": the MPI library does this call, and does not see what "
                                    "collective calls left in memory; call MPI_File_sync before"));
    if (needs.data && file->view()->native_layout_differs)
        return raise(handle,
                     error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                std::string{name} + " on " + file->path() +
                                    ": the MPI library does this call, and has data of this view's "
                                    "types (such as MPI_LONG) in the wrong places of external32"));
    if (!file->view()->mirrored) {
        if (!needs.collective)
            return raise(
                handle, error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                   std::string{name} + " on " + file->path() +
                                       ": the MPI library does not know this large or unusual file "
                                       "view yet; UNISONO_DISABLE=1 leaves all to it"));
        if (auto const result = mirror_view(*file); result != MPI_SUCCESS) return result;
    }
    if (needs.data) file->note_native();
    std::optional<UnderWay> access;
    if (needs.data) access.emplace(file->io_counts());
    AdmissionGate::Pass pass;
    if (auto const& gate = file->storage().gate; needs.data && gate != nullptr)
        pass = gate->enter_somewhere(bytes);
    if (!needs.pointer) return native();
    UNISONO_NATIVE(File_seek)(handle, file->pointer(), numbers().seek_set);
    auto const result = native();
    MPI_Offset pointer = 0;
    if (UNISONO_NATIVE(File_get_position)(handle, &pointer) == MPI_SUCCESS)
        file->set_pointer(pointer);
    return result;
}

}  // namespace unisono::interpose
