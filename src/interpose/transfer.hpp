#pragma once

#include <mpi.h>

#include <functional>

#include "interpose/pass_on.hpp"

namespace unisono::interpose {

/// A blocking collective data call: agreed by all ranks, done by Unisono, or passed on by all.
int transfer_collective(DataCall const& call, MPI_Status* status, NativeCall const& native);

/// A blocking independent data call. Local.
int transfer_independent(DataCall const& call, MPI_Status* status, NativeCall const& native);

/// A blocking call by one rank, at the shared file pointer: done by Unisono where it has that
/// pointer (FileView::kept_back), or passed on. Local.
int transfer_shared(DataCall const& call, MPI_Status* status, NativeCall const& native);
/// A nonblocking one; if it is Unisono's, it is over when it returns. Like the other nonblocking
/// ones, it leaves a null request where it fails at once: who waits all the same waits for nothing.
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

/// The second half: hands out what the first half came to. Refused where that was another call's,
/// or has not been. `operation`: the number of its entry point.
int transfer_end(MPI_File handle, Direction direction, std::uint16_t operation, MPI_Status* status,
                 NativeCall const& native);

}  // namespace unisono::interpose
