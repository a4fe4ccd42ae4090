#include "interpose/transfer.hpp"

#include <sys/stat.h>

#include "execute/direct.hpp"
#include "interpose/errors.hpp"
#include "interpose/native.hpp"

namespace unisono::interpose {
namespace {

/// A data call translated; when `refusal` is not 0, its arguments are wrong.
struct Prepared {
    Request request;
    std::shared_ptr<FileView const> view;
    std::shared_ptr<Datatype const> type;
    int refusal = 0;  ///< MPI error class
    char const* why = "";
    bool usable = true;    ///< Unisono can do it
    MPI_Offset first = 0;  ///< in etypes
};

void refuse(Prepared& prepared, int error_class, char const* why) {
    prepared.refusal = error_class;
    prepared.why = why;
    prepared.request.positions = {};
}

void check_access(Prepared& prepared, File const& file, Direction direction) {
    auto const mode = file.access_mode();
    if (direction == Direction::write && (mode & MPI_MODE_RDONLY) != 0)
        refuse(prepared, MPI_ERR_READ_ONLY, "the file is open for reading only");
    if (direction == Direction::read && (mode & MPI_MODE_WRONLY) != 0)
        refuse(prepared, MPI_ERR_ACCESS, "the file is open for writing only");
}

// Memory and view side of the call; positions follow once the file offset is known.
Prepared prepare(File const& file, DataCall const& call) {
    Prepared prepared{.view = file.view()};
    auto& request = prepared.request;
    request.direction = call.direction;
    request.view = prepared.view->tiling;
    request.base = reinterpret_cast<std::uintptr_t>(call.buffer);
    prepared.usable = file.storage().backend != nullptr && prepared.view->usable;
    check_access(prepared, file, call.direction);
    if (call.count < 0) refuse(prepared, MPI_ERR_COUNT, "the count is negative");
    if (call.offset && *call.offset < 0) refuse(prepared, MPI_ERR_ARG, "the offset is negative");
    if (prepared.refusal != 0) return prepared;

    int mpi_error = unusable(call.type, file.context().comm());
    if (mpi_error == MPI_SUCCESS) prepared.type = decode(call.type, &mpi_error);
    if (prepared.type == nullptr) {
        if (mpi_error == MPI_ERR_UNSUPPORTED_OPERATION)
            prepared.usable = false;
        else
            refuse(prepared, MPI_ERR_TYPE, "the datatype is null or not committed");
        return prepared;
    }
    auto const bytes = static_cast<std::uint64_t>(call.count) * prepared.type->bytes;
    request.memory = {prepared.type->shape, 0, prepared.type->extent};
    if (call.count > 1) request.memory = with_long_tiles(request.memory);
    request.positions = {0, bytes};
    if (bytes % prepared.view->etype_bytes != 0)
        refuse(prepared, MPI_ERR_IO, "the data are not a whole number of etypes");
    if (bytes > 0 && request.view.shape->empty())
        refuse(prepared, MPI_ERR_IO, "the file view holds no data");
    return prepared;
}

void place(Prepared& prepared, MPI_Offset first_etype) {
    auto const begin = static_cast<std::uint64_t>(first_etype) * prepared.view->etype_bytes;
    auto& positions = prepared.request.positions;
    prepared.first = first_etype;
    positions = {begin, begin + positions.bytes()};
}

MPI_Offset etypes_of(Prepared const& prepared, std::uint64_t bytes) {
    return static_cast<MPI_Offset>(bytes / prepared.view->etype_bytes);
}

int refusal_code(File const& file, DataCall const& call, int error_class, std::string const& why) {
    return error_code(error_class, std::string{call.name} + " on " + file.path() + ": " + why);
}

void add_times(DirectionReport& report, CallRecord const& record, double whole_s) {
    report[Phase::waiting].add(record.waiting_s);
    report[Phase::exchange].add(record.exchange_s);
    report[Phase::copying].add(record.copying_s);
    report[Phase::file].add(record.file_s);
    report[Phase::whole].add(whole_s);
    report.moved_bytes += record.file_bytes;
    report.pieces += record.file_extents;
    report.rounds += record.rounds;
    report.meetings += record.meetings;
    report.messages += record.messages;
    report.sent_bytes += record.message_bytes;
}

void record_collective(File& file, Prepared const& prepared, Outcome const& outcome,
                       CallRecord const& record, double whole_s) {
    file.record([&](FileReport& report) {
        auto& direction = report[prepared.request.direction];
        ++direction.collective_calls;
        direction.failed_calls += outcome.verdict.code != 0 || outcome.refusal != 0;
        direction.asked_bytes += prepared.request.positions.bytes();
        direction.strategies[std::string{outcome.strategy}].add(1, outcome.why);
        if (!outcome.refusal_of_strategy.empty())
            direction.refusals[file.options().strategy].add(1, outcome.refusal_of_strategy);
        add_times(direction, record, whole_s);
        report.nodes = file.team().topology().nodes();
        report.aggregators =
            std::max(report.aggregators, static_cast<std::uint32_t>(outcome.aggregators));
    });
}

// The same operation as a collective call that Unisono does not do itself.
int pass_data_on(File& file, DataCall const& call, NativeCall const& native,
                 std::uint64_t bytes = 0) {
    return pass_on(file.handle(), call.offset ? view_for_data : view_and_pointer_for_data,
                   call.name, native, bytes);
}

void record_native(File& file, Direction direction, char const* reason) {
    file.record([&](FileReport& report) { ++report[direction].native_calls[reason]; });
}

int independent_on(File& file, DataCall const& call, MPI_Status* status) {
    auto prepared = prepare(file, call);
    if (prepared.refusal != 0)
        return raise(file.handle(), refusal_code(file, call, prepared.refusal, prepared.why));
    if (!prepared.usable)
        return raise(
            file.handle(),
            refusal_code(file, call, MPI_ERR_UNSUPPORTED_OPERATION,
                         "Unisono cannot do it, and the MPI library has no such view yet"));
    auto const asked = prepared.request.positions.bytes();
    auto const asked_etypes = etypes_of(prepared, asked);
    place(prepared, call.offset ? *call.offset : file.advance_pointer(asked_etypes));
    CallRecord record;
    Stopwatch watch;
    double whole_s = 0;
    auto const& request = prepared.request;
    auto const cache = file.cache();
    auto const result = cache != nullptr
                            ? cache->perform_independent(request, record)
                            : perform_direct(request, request.positions, file.storage(), record);
    watch.lap(whole_s);
    if (!call.offset && result.bytes != asked)
        file.set_pointer(prepared.first + etypes_of(prepared, result.bytes));
    set_count(status, result.bytes);
    file.record([&](FileReport& report) {
        auto& direction = report[call.direction];
        ++direction.independent_calls;
        direction.asked_bytes += asked;
        add_times(direction, record, whole_s);
    });
    if (!result.error) return MPI_SUCCESS;
    Verdict const verdict{result, static_cast<std::uint32_t>(file.context().rank())};
    return raise(file.handle(),
                 refusal_code(file, call, error_class_of(verdict.code), describe(verdict)));
}

// What a selector wants to know of a call beyond what any call needs.
void propose_to_selector(Proposal& mine, File const& file, Prepared const& prepared) {
    auto const plain = !prepared.view->costly && prepared.type != nullptr && prepared.type->plain;
    mine.native_ready = plain && prepared.view->mirrored && !file.context().threaded();
    struct stat status {};
    auto const& request = prepared.request;
    if (request.direction == Direction::read && !request.positions.empty() &&
        fstat(file.storage().descriptor, &status) == 0)
        mine.file_bytes = static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t gate_waits(File const& file) {
    auto const& gate = file.storage().gate;
    return gate == nullptr ? 0 : gate->counts().waits;
}

// The MPI library can do independent calls with views that Unisono cannot walk.
bool native_must_do(File const& file, DataCall const& call) {
    if (!file.taken_over()) return true;
    auto const view = file.view();
    if (view->usable && file.storage().backend != nullptr) {
        int mpi_error = MPI_SUCCESS;
        return call.type != MPI_DATATYPE_NULL && call.count > 0 &&
               decode(call.type, &mpi_error) == nullptr &&
               mpi_error == MPI_ERR_UNSUPPORTED_OPERATION;
    }
    return view->mirrored;
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

}  // namespace

int transfer_collective(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (!file->taken_over()) {
        record_native(*file, call.direction, "atomic mode or data representation");
        return pass_data_on(*file, call, native);
    }
    Stopwatch watch;
    double whole_s = 0;
    auto prepared = prepare(*file, call);
    if (prepared.refusal == 0) place(prepared, call.offset ? *call.offset : file->pointer());
    auto& team = file->team();
    auto proposal = propose(prepared.request, file->storage());
    proposal.refusal = prepared.refusal;
    proposal.refusing_rank = team.rank();
    proposal.must_be_native = !prepared.usable;
    proposal.shapes += file->path_hash();
    auto& measured = file->context().measured();
    if (Measured::wanted(file->options())) {
        propose_to_selector(proposal, *file, prepared);
        measured.go_to(file->place());
    }
    CallRecord record;
    auto const waits_before = gate_waits(*file);
    auto const outcome =
        perform_collective({team, team.rendezvous(), file->storage(), file->layout(),
                            file->options(), measured, file->gathered(), file->make_cache().get()},
                           prepared.request, proposal, record);
    watch.lap(whole_s);
    record_collective(*file, prepared, outcome, record, whole_s);
    auto const result = outcome.native
                            ? pass_data_on(*file, call, native, prepared.request.positions.bytes())
                            : MPI_SUCCESS;
    if (outcome.native) watch.lap(whole_s);
    if (outcome.verdict.code == 0) {
        if (gate_waits(*file) == waits_before)
            measured.finish(whole_s - outcome.met_after_s);
        else
            measured.finish_disturbed();
    }
    if (auto const examined = measured.examined_class()) file->note_examined(*examined);
    if (outcome.native) return result;
    if (outcome.refusal != 0) {
        auto const own = prepared.refusal != 0;
        auto const why = own ? std::string{prepared.why}
                             : "wrong arguments on rank " + std::to_string(outcome.refusing_rank);
        set_count(status, 0);
        return raise(call.handle, refusal_code(*file, call, outcome.refusal, why));
    }
    if (!call.offset) file->set_pointer(prepared.first + etypes_of(prepared, outcome.bytes));
    set_count(status, outcome.bytes);
    if (outcome.verdict.code == 0) return MPI_SUCCESS;
    return raise(call.handle, refusal_code(*file, call, error_class_of(outcome.verdict.code),
                                           describe(outcome.verdict)));
}

int transfer_independent(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (!native_must_do(*file, call)) return independent_on(*file, call, status);
    record_native(*file, call.direction, "independent call that Unisono cannot do");
    return pass_on(call.handle, call.offset ? known_view_for_data : known_view_and_pointer_for_data,
                   call.name, native);
}

int transfer_nonblocking(DataCall const& call, MPI_Request* request, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (native_must_do(*file, call)) {
        record_native(*file, call.direction, "nonblocking call that Unisono cannot do");
        return pass_on(call.handle,
                       call.offset ? known_view_for_data : known_view_and_pointer_for_data,
                       call.name, native);
    }
    auto completed = std::make_unique<Completed>();
    if (auto const result = independent_on(*file, call, &completed->status); result != MPI_SUCCESS)
        return result;
    PMPI_Grequest_start(
        query_completed, free_completed, [](void*, int) { return MPI_SUCCESS; },
        completed.release(), request);
    return PMPI_Grequest_complete(*request);
}

int transfer_begin(DataCall const& call, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    bool passed_on = false;
    MPI_Status status{};
    auto const result = transfer_collective(call, &status, [&] {
        passed_on = true;
        return native();
    });
    MPI_Count bytes = 0;
    if (!passed_on) PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    file->set_split_bytes(passed_on ? std::nullopt : std::optional{bytes});
    return result;
}

int transfer_end(MPI_File handle, MPI_Status* status, NativeCall const& native) {
    auto const file = find(handle);
    auto const bytes = file == nullptr ? std::nullopt : file->take_split_bytes();
    if (!bytes) return pass_on(handle, view_and_pointer, "the end of a split call", native);
    set_count(status, static_cast<std::uint64_t>(*bytes));
    return MPI_SUCCESS;
}

int mirror_view(File& file) {
    auto const view = file.view();
    if (view->mirrored) return MPI_SUCCESS;
    auto const result = UNISONO_NATIVE(File_set_view)(
        file.handle(), view->displacement, view->etype, view->filetype, "native", MPI_INFO_NULL);
    if (result == MPI_SUCCESS) file.mark_mirrored();
    return result;
}

int pass_on(MPI_File handle, Needs needs, char const* name, NativeCall const& native,
            std::uint64_t bytes) {
    auto const file = find(handle);
    if (file == nullptr) return native();
    if (needs.collective)
        file->drain();
    else if (needs.data && file->cache() != nullptr && !file->cache()->stand_aside())
        return raise(handle,
                     error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                std::string{name} + " on " + file->path() +
                                    ": the MPI library does this call, and does not see what "
                                    "collective calls left in memory; call MPI_File_sync before"));
    if (!file->view()->mirrored) {
        if (!needs.collective)
            return raise(
                handle, error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                   std::string{name} + " on " + file->path() +
                                       ": the MPI library does not know this large or unusual file "
                                       "view yet; UNISONO_DISABLE=1 leaves all to it"));
        if (auto const result = mirror_view(*file); result != MPI_SUCCESS) return result;
    }
    coordinate::GateClient::Pass pass;
    if (needs.data && file->storage().gate != nullptr)
        pass = file->storage().gate->enter_somewhere(bytes);
    if (!needs.pointer) return native();
    UNISONO_NATIVE(File_seek)(handle, file->pointer(), MPI_SEEK_SET);
    auto const result = native();
    MPI_Offset pointer = 0;
    if (UNISONO_NATIVE(File_get_position)(handle, &pointer) == MPI_SUCCESS)
        file->set_pointer(pointer);
    return result;
}

}  // namespace unisono::interpose
