#pragma once

#include <mpi.h>

#include <functional>

#include "interpose/data_call.hpp"

namespace unisono::interpose {

/// Calls the MPI library's own function with the same arguments.
using NativeCall = std::function<int()>;

/// What a call that is passed on needs of the native handle, which has to know the view.
struct Needs {
    bool pointer = false;  ///< the individual file pointer
    bool collective =
        false;          ///< all ranks make the call, so the view can be given to the handle now
    bool data = false;  ///< the call moves data
};
inline Needs needs_of_collective(DataCall const& call) {
    return {.pointer = !call.offset, .collective = true, .data = true};
}
inline Needs needs_of_independent(DataCall const& call) {
    return {.pointer = !call.offset, .data = true};
}

/// Passes a call on, with the native handle's view and file pointer as they should be, and takes
/// the pointer back from it. A call that moves data passes the gate once; `bytes`: how many, if
/// that is known.
int pass_on(MPI_File handle, Needs needs, char const* name, NativeCall const& native,
            std::uint64_t bytes = 0);

/// Passes a data call on that Unisono does not even begin; a report says why (`reason`).
int leave_to_mpi(File& file, DataCall const& call, Needs needs, char const* reason,
                 NativeCall const& native);

inline constexpr auto const* by_shared_pointer = "shared file pointer";
inline constexpr auto const* nonblocking_by_mpi = "nonblocking call that Unisono cannot do";

// The shared file pointer where the MPI library has it (FileView::mirrored). What goes wrong with
// it on one rank would leave the others waiting in the library, or in the library's next call.

/// A call of this rank alone to where the library keeps it. ROMIO and OMPIO lock that for the
/// process: two threads that wait for two of them, and hold two that another process waits for, are
/// a deadlock to the kernel, at which ROMIO ends the program. So one thread at a time. Local.
int at_native_shared_pointer(NativeCall const& native);

/// Where it is as far as this rank knows, Unisono's own or the library's; `must_be_native` where
/// the library cannot tell. Local.
MPI_Offset known_shared_pointer(File& file, Objection& objection);
/// The ranks' common answer, once they have met, where it could not tell some rank; the error
/// handler has seen it.
int refuse_lost_pointer(File& file, CallArguments const& agreed, char const* call);
/// Moves the library's; likewise. ROMIO ends the program where it cannot. Collective.
int move_native_shared_pointer(File& file, MPI_Offset etypes, char const* call);

/// Gives the native handle the view that it does not know yet, because single ranks may need it
/// there from now on. If that would be costly or dangerous it stays where it is, and their calls
/// with the shared pointer are refused. Collective.
void let_go_of_view(File& file);

}  // namespace unisono::interpose
