#include "interpose/pass_on.hpp"

#include <mutex>
#include <optional>

#include "interpose/conclusion.hpp"
#include "interpose/errors.hpp"
#include "interpose/in_call.hpp"
#include "interpose/left_in_memory.hpp"
#include "interpose/native.hpp"
#include "interpose/numbers.hpp"
#include "interpose/open_files.hpp"
#include "interpose/program.hpp"

namespace unisono::interpose {
namespace {

// Gives the native handle the view that it does not know yet. Collective.
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

// Why the MPI library must not do a call; null: it may, and sees what is in memory.
char const* why_not_by_mpi(File const& file, Needs needs) {
    auto const view = file.view();
    if (needs.data && !needs.collective && !prepare_bypass(file))
        return "does this call, and does not see what collective calls left in memory; call "
               "MPI_File_sync before";
    if (needs.data && view->native_layout_differs)
        return "does this call, and has data of this view's types (such as MPI_LONG) in the wrong "
               "places of external32";
    if (!needs.collective && !view->mirrored)
        return "does not know this large or unusual file view yet; UNISONO_DISABLE=1 leaves all to "
               "it";
    return nullptr;
}

}  // namespace

int pass_on(MPI_File handle, Needs needs, char const* name, NativeCall const& native,
            std::uint64_t bytes) {
    auto const file = find(handle);
    if (file == nullptr) return native();
    if (needs.collective) file->drain();
    if (auto const* const why = why_not_by_mpi(*file, needs))
        return raise(handle, error_code(MPI_ERR_UNSUPPORTED_OPERATION,
                                        std::string{name} + " on " + file->path() +
                                            ": the MPI library " + why));
    if (needs.collective)
        if (auto const result = mirror_view(*file); result != MPI_SUCCESS) return result;
    // Afterwards, however the call ends.
    struct Noted {
        File& file;
        bool data;
        ~Noted() {
            if (data) file.durability().note_native();
        }
    } const noted{*file, needs.data};
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

int leave_to_mpi(File& file, DataCall const& call, Needs needs, char const* reason,
                 NativeCall const& native) {
    std::optional<InCall> in_call;
    if (needs.collective) in_call.emplace(file, call.operation, call.offset);
    if (needs.collective) add_to_recording(file, call, call.offset || needs.pointer);
    CallRecord record;
    auto const result = pass_on(file.handle(), needs, call.name(), native);
    record.lap(Phase::native);
    auto const bytes = result == MPI_SUCCESS ? bytes_asked(call) : 0;
    auto const held = needs.collective ? std::shared_lock<std::shared_mutex>{} : file.hold();
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

int at_native_shared_pointer(NativeCall const& native) {
    static std::recursive_mutex mutex;  // an error handler of the program's may make such calls
    std::lock_guard const lock{mutex};
    return native();
}

MPI_Offset known_shared_pointer(File& file, Objection& objection) {
    if (!file.view()->mirrored) return file.shared_pointer().reached();
    MPI_Offset begin = 0;
    objection.must_be_native =
        at_native_shared_pointer([&] {
            return UNISONO_NATIVE(File_get_position_shared)(file.handle(), &begin);
        }) != MPI_SUCCESS;
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
    file.meet(moved);
    if (moved.objection.refusal == 0) return MPI_SUCCESS;
    return fail(file, moved.objection.refusal, call,
                "the MPI library cannot move the shared file pointer on rank " +
                    std::to_string(moved.objection.refusing_rank));
}

void let_go_of_view(File& file) {
    auto const view = file.view();
    if (view->mirrored) return;
    Notice notice{.defer_native_view = view->costly || view->native_layout_differs};
    file.meet(notice);
    if (!notice.defer_native_view) {
        mirror_view(file);
        return;
    }
    file.set_shared_pointer(file.agreed_shared_pointer());
    file.mark_kept_back(false);
}

}  // namespace unisono::interpose
