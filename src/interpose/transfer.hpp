#pragma once

#include <mpi.h>

#include <functional>

#include "interpose/data_call.hpp"
#include "interpose/pending.hpp"

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

/// A blocking collective data call: agreed by all ranks, done by Unisono, or passed on by all.
int transfer_collective(DataCall const& call, MPI_Status* status, NativeCall const& native);

/// A blocking independent data call. Local.
int transfer_independent(DataCall const& call, MPI_Status* status, NativeCall const& native);

/// A blocking call by one rank, at the shared file pointer: done by Unisono where it has that
/// pointer (FileView::kept_back), or passed on. Local.
int transfer_shared(DataCall const& call, MPI_Status* status, NativeCall const& native);
/// A nonblocking one; if it is Unisono's, it is over when it returns.
int transfer_nonblocking_shared(DataCall const& call, MPI_Request* request,
                                NativeCall const& native);

/// A nonblocking independent call. Large ones are done beside the program, others at once: then the
/// request is complete. They would not overlap in MPICH either, whose own version rewrites holes
/// and aborts on some datatypes; Open MPI's hangs on some reads past the end.
int transfer_nonblocking(DataCall const& call, MPI_Request* request, NativeCall const& native);

/// A nonblocking collective call: done beside the program where that can be (NonblockingCalls), or
/// passed on by all.
int transfer_nonblocking_collective(DataCall const& call, MPI_Request* request,
                                    NativeCall const& native);

/// The MPI library's own way of an ordered call: by itself, and with an explicit offset.
struct OrderedCall {
    NativeCall ordered;
    std::function<int(MPI_Offset, MPI_Status*)> at;
};

/// An ordered call, as a collective one with explicit offsets. The shared file pointer is the MPI
/// library's, if it knows the view, and it is asked for it and told of it: so these calls and
/// others with that pointer can be mixed. It moves by what all ranks ask for, whatever becomes of
/// the data; not at all where some rank's arguments are wrong. Cost beyond a collective call: a
/// meeting, a prefix sum, and where the pointer is the MPI library's, a question and a
/// MPI_File_seek_shared on every rank.
int transfer_ordered(DataCall const& call, MPI_Status* status, OrderedCall const& native);

/// The first half of a split one: all of it. `native.ordered` only begins.
int transfer_begin_ordered(DataCall const& call, OrderedCall const& native);

/// The first half of a split collective call: has it done beside the program, or does all of it, as
/// ROMIO does.
int transfer_begin(DataCall const& call, NativeCall const& native);

/// Does this rank's part of a call that has begun, and that helper threads cannot do, by itself: no
/// rank need come to it while another one waits for its own. Ends the call. Local; others hear of
/// what was not written at the next sync or close.
void do_own_part(PendingCall& pending);

/// The second half: hands out what the first half came to. Refused where that was another call's,
/// or has not been. `operation`: the number of its entry point.
int transfer_end(MPI_File handle, Direction direction, std::uint16_t operation, MPI_Status* status,
                 NativeCall const& native);

/// Passes a call on, with the native handle's view and file pointer as they should be, and takes
/// the pointer back from it. A call that moves data passes the gate once; `bytes`: how many, if
/// that is known.
int pass_on(MPI_File handle, Needs needs, char const* name, NativeCall const& native,
            std::uint64_t bytes = 0);

// The shared file pointer where the MPI library has it (FileView::mirrored). What goes wrong with
// it on one rank would leave the others waiting in the library, or in the library's next call.

/// Where it is as far as this rank knows, Unisono's own or the library's; `must_be_native` where
/// the library cannot tell. Local.
MPI_Offset known_shared_pointer(File& file, Objection& objection);
/// The ranks' common answer, once they have met, where it could not tell some rank; the error
/// handler has seen it.
int refuse_lost_pointer(File& file, CallArguments const& agreed, char const* call);
/// Moves the library's; likewise. ROMIO ends the program where it cannot. Collective.
int move_native_shared_pointer(File& file, MPI_Offset etypes, char const* call);

/// Gives the native handle the view that it does not know yet. Collective.
int mirror_view(File& file);

/// The same because single ranks may need it there from now on. If that would be costly or
/// dangerous it stays where it is, and their calls with the shared pointer are refused. Collective.
void let_go_of_view(File& file);

}  // namespace unisono::interpose
