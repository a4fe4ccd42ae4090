#include "devices/device_memory.hpp"
#include "interpose/alone.hpp"
#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/nonblocking.hpp"
#include "interpose/open_files.hpp"
#include "interpose/transfer.hpp"
#include "support/clock.hpp"

namespace unisono::interpose {
namespace {

bool gains_from_overlap(File& file, DataCall const& call) {
    return call.count > 0 && call.type != MPI_DATATYPE_NULL &&
           file.overlap_gain().expected(call.direction, bytes_asked(call)) &&
           file.options().overlap != Switch::disable && !file.by_mpi() &&
           !has_data_in_blocks(file) && caches_of_others(file).empty() && !any_driver();
}

// A nonblocking call that is over already has the status that it is waited for with.
int query_completed(void* state, MPI_Status* status) {
    *status = *static_cast<MPI_Status*>(state);
    return MPI_SUCCESS;
}

int free_completed(void* state) {
    delete static_cast<MPI_Status*>(state);
    return MPI_SUCCESS;
}

// Whose a call is that a rank does by itself.
enum class Whose : bool { own, part_of_collective };

// A nonblocking call that is over when it returns.
int complete_at_once(File& file, DataCall const& call, Pointer pointer, Whose whose,
                     MPI_Request* request) {
    auto completed = std::make_unique<MPI_Status>();
    auto const begin_s = steady_clock_s();
    auto const done = [&] {
        auto const held = file.hold();
        return perform_alone(file, call, pointer, completed.get());
    }();
    file.overlap_gain().note(call.direction, done.bytes, steady_clock_s() - begin_s);
    if (whose == Whose::part_of_collective) file.note_lost(done.lost);
    if (done.code != MPI_SUCCESS) return raise(file.handle(), done.code);
    PMPI_Grequest_start(
        query_completed, free_completed, [](void*, int) -> int { return MPI_SUCCESS; },
        completed.release(), request);
    return PMPI_Grequest_complete(*request);
}

// A null pointer has Open MPI's word: others move the data before they crash, by whatever view they
// know. Who waits for a call that fails at once waits for nothing.
int clear_request(File& file, DataCall const& call, MPI_Request* request) {
    if (request == nullptr)
        return raise(file.handle(), code_of(file, call, MPI_ERR_REQUEST,
                                            "the request is a null pointer", Told::this_rank));
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

// False: it had better be done at once, and has no request.
bool post_beside(NonblockingCalls& calls, std::shared_ptr<PendingCall> const& pending, Whose whose,
                 MPI_Request* request) try {
    auto const& prepared = pending->prepared;
    return prepared.refusal == 0 && prepared.usable &&
           calls.post_independent(pending, whose == Whose::part_of_collective, request);
} catch (std::bad_alloc const&) {
    return false;
}

int begin_alone(std::shared_ptr<File> const& file, DataCall const& call, Whose whose,
                MPI_Request* request, NativeCall const& native) {
    auto held = file->hold();
    if (native_must_do(*file, call)) {
        held = {};
        return leave_to_mpi(*file, call, needs_of_independent(call), nonblocking_by_mpi, native);
    }
    if (gains_from_overlap(*file, call)) {
        auto& calls = file->nonblocking();
        auto const pending = begin_beside(file, call, /*collective=*/false);
        if (post_beside(calls, pending, whose, request)) return MPI_SUCCESS;
        if (pending->prepared.refusal == 0 && !call.offset)
            file->set_pointer(pending->prepared.first);
        pending->end();
    }
    held = {};
    return complete_at_once(*file, call, Pointer::individual_at_start, whose, request);
}

// Else a report would have these calls as those of single ranks, and not say why.
void note_apart(File& file) {
    if (NonblockingCalls::possible(file) || file.options().overlap == Switch::disable) return;
    file.note_once(
        "nonblocking collective calls: between nodes Unisono does them together only with "
        "MPI_THREAD_MULTIPLE, or with UNISONO_OVERLAP=enable (docs/use/limits.md)");
}

}  // namespace

int transfer_nonblocking(DataCall const& call, MPI_Request* request, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const code = clear_request(*file, call, request); code != MPI_SUCCESS) return code;
    return begin_alone(file, call, Whose::own, request, native);
}

int transfer_nonblocking_collective(DataCall const& call, MPI_Request* request,
                                    NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const code = clear_request(*file, call, request); code != MPI_SUCCESS) return code;
    auto const needs = needs_of_collective(call);
    if (!file->taken_over())
        return leave_to_mpi(*file, call, needs, file->why_not_taken_over(), native);
    // To write what is in memory to the file would wait for others, and so would telling the MPI
    // library of the view.
    auto const overlaps = can_overlap(*file);
    if (!overlaps) {
        file->note_native_nonblocking();
        note_apart(*file);
    }
    if (has_data_in_blocks(*file) || (!overlaps && file->view()->kept_back)) {
        add_to_recording(*file, call, /*has_place=*/true);
        auto const whose = file->context().ranks() > 1 ? Whose::part_of_collective : Whose::own;
        return begin_alone(file, call, whose, request, native);
    }
    if (!overlaps) return leave_to_mpi(*file, call, needs, "nonblocking collective call", native);
    auto pending = begin_beside(file, call, /*collective=*/true);
    if (auto const result = PendingCalls::all().add(pending, request); result != MPI_SUCCESS)
        return result;
    file->nonblocking().post(std::move(pending));
    return MPI_SUCCESS;
}

int transfer_nonblocking_shared(DataCall const& call, MPI_Request* request,
                                NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const code = clear_request(*file, call, request); code != MPI_SUCCESS) return code;
    if (native_must_do_shared(*file, call))
        return leave_to_mpi(*file, call, {.data = true}, by_shared_pointer,
                            [&] { return at_native_shared_pointer(native); });
    return complete_at_once(*file, call, Pointer::shared, Whose::own, request);
}

}  // namespace unisono::interpose
