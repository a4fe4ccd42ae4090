#include "interpose/alone.hpp"
#include "interpose/errors.hpp"
#include "interpose/open_files.hpp"
#include "interpose/plain_call.hpp"
#include "interpose/transfer.hpp"

namespace unisono::interpose {
namespace {

// The code of an independent call, unless the MPI library has to do it.
std::optional<int> perform_held(File& file, DataCall const& call, Pointer pointer,
                                MPI_Status* status) {
    auto const held = file.hold();
    if (pointer == Pointer::individual)
        if (auto const code = perform_plain(file, call, status)) return code;
    CallRecord record{file.clock_of_reports()};
    auto prepared = prepare(file, call, Ends::at_return);
    auto const natively = pointer == Pointer::shared ? native_must_do_shared(file, call)
                                                     : native_must_do(file, prepared);
    if (natively) return {};
    return perform_alone(file, call, prepared, record, pointer, status).code;
}

}  // namespace

int transfer_independent(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const code = perform_held(*file, call, Pointer::individual, status))
        return raise(call.handle, *code);
    return leave_to_mpi(*file, call, needs_of_independent(call),
                        "independent call that Unisono cannot do", native);
}

int transfer_shared(DataCall const& call, MPI_Status* status, NativeCall const& native) {
    auto const file = find(call.handle);
    if (file == nullptr) return native();
    if (auto const code = perform_held(*file, call, Pointer::shared, status))
        return raise(call.handle, *code);
    return leave_to_mpi(*file, call, {.data = true}, by_shared_pointer,
                        [&] { return at_native_shared_pointer(native); });
}

}  // namespace unisono::interpose
