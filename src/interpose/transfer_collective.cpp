#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/hints.hpp"
#include "interpose/in_call.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/open_files.hpp"
#include "interpose/plain_call.hpp"
#include "interpose/transfer.hpp"

namespace unisono::interpose {
namespace {

bool in_window(File const& file, Direction direction) {
    auto const cache = file.cache();
    return cache != nullptr && cache->in_window(direction);
}

CollectiveFile collective_file(File& file, std::function<bool()> native) {
    auto& team = file.team();
    // Ranks that are in other calls hear of it here; in a broadcast all would wait for ever.
    if (Notice notice; !file.knows_layout()) file.meet(notice);
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

// A collective call that all ranks are in. Its time goes on from `record`.
int collective_on(File& file, DataCall const& call, Prepared& prepared, CallRecord& record,
                  MPI_Status* status, NativeCall const& native) {
    if (!prepared.usable && prepared.refusal == 0 && in_window(file, call.direction))
        pack(prepared, call);
    if (prepared.refusal == 0) place(prepared, call.offset ? *call.offset : file.pointer());
    if (call.direction == Direction::write) file.durability().note_written();
    tell_of_writes_in_memory(file, call);
    int native_result = MPI_SUCCESS;
    auto caller = caller_facts(file, prepared);
    caller.since_view.new_hints = file.take_new_hints();
    auto const by_mpi = [&] {
        native_result = pass_on(file.handle(), needs_of_collective(call), call.name(), native,
                                prepared.request.positions.bytes());
        return native_result == MPI_SUCCESS;
    };
    auto const outcome = perform_collective(collective_file(file, std::cref(by_mpi)),
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

}  // namespace

int transfer_collective(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (!file->taken_over())
        return leave_to_mpi(*file, call, needs_of_collective(call), file->why_not_taken_over(),
                            native);
    InCall const in_call{*file, call.operation, call.offset ? *call.offset : file->pointer()};
    if (auto const code = perform_plain_part(*file, call, status)) return raise(call.handle, *code);
    CallRecord record;
    auto prepared = prepare(*file, call, Ends::at_return);
    return collective_on(*file, call, prepared, record, status, native);
}

namespace {

constexpr Needs needs_of_ordered{.collective = true, .data = true};

// Unisono does its ordered calls. Equal on all ranks.
bool orders(File const& file) { return file.taken_over() && !file.view()->native_only; }

// This rank's.
CallArguments arguments_of(File& file, DataCall const& call, Prepared const& prepared) {
    auto const rank = static_cast<std::uint32_t>(file.context().rank());
    CallArguments mine{.objection = {.refusal = prepared.refusal, .refusing_rank = rank}};
    if (prepared.refusal == 0)
        mine.etypes = static_cast<std::uint64_t>(etypes_asked(prepared, call));
    mine.begin = known_shared_pointer(file, mine.objection);
    if (!file.view()->mirrored) mine.objection.must_be_native = !file.view()->usable;
    return mine;
}

/// Where a rank's part of an ordered call begins.
struct OrderedBegin {
    std::optional<MPI_Offset> offset;  ///< none: the MPI library has to do the call
    int code = MPI_SUCCESS;            ///< else there is no call; the error handler has seen it
};

// Moves the shared file pointer past what all ranks ask for, before anything else is done: so
// nobody can come to it too early. Collective.
OrderedBegin advance_shared_pointer(File& file, DataCall const& call, Prepared& prepared) {
    auto all = arguments_of(file, call, prepared);
    auto const mine = all.etypes;
    file.meet(all);
    if (auto const lost = refuse_lost_pointer(file, all, call.name()); lost != MPI_SUCCESS)
        return {.code = lost};
    if (all.objection.must_be_native) return {};
    MPI_Offset end = 0;
    if (__builtin_add_overflow(all.begin, all.etypes, &end))
        refuse(prepared, MPI_ERR_ARG, pointer_beyond);
    if (all.objection.refusal != 0 || prepared.refusal != 0) {
        // All refuse it then; in a window only the rank that has the wrong argument would.
        file.end_window();
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

}  // namespace unisono::interpose
