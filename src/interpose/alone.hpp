#pragma once

#include <mpi.h>

#include <cstdint>

#include "interpose/data_call.hpp"
#include "interpose/pending.hpp"

namespace unisono::interpose {

// Calls that a rank does by itself, or its part of one.

/// The MPI library has to do a call: it can do independent ones with views that Unisono cannot
/// walk, and may with memory that it cannot copy.
bool native_must_do(File const& file, Prepared const& prepared);
bool native_must_do(File const& file, DataCall const& call);
/// The same for one at the shared file pointer. What the file is not open for is refused here:
/// MPICH (4.0.2) waits for ever for a nonblocking one.
bool native_must_do_shared(File const& file, DataCall const& call);

/// What says where a call begins that has no offset. The individual pointer is left behind what was
/// moved, or, by nonblocking calls, behind what was asked for.
enum class Pointer : std::uint8_t { individual, individual_at_start, shared };

/// What a call has come to.
struct Alone {
    int code = MPI_SUCCESS;   ///< nothing was raised yet
    std::uint64_t bytes = 0;  ///< moved, as the file has them
    Verdict lost{};           ///< of a write
};

/// Moves data of such a call: what is in memory of the file, by whichever handle, is seen, and
/// knows of it. Any thread.
IoResult access_alone(File& file, Request const& request, CallRecord& record);

/// By Unisono; the caller has a hold() of the file. Its time goes on from `record`. Local.
Alone perform_alone(File& file, DataCall const& call, Prepared& prepared, CallRecord& record,
                    Pointer pointer, MPI_Status* status);
Alone perform_alone(File& file, DataCall const& call, Pointer pointer, MPI_Status* status);

/// Does this rank's part of a call that has begun, and that helper threads cannot do, by itself: no
/// rank need come to it while another one waits for its own. Local; what was not written is in the
/// call's outcome.
void do_own_part(PendingCall& pending);

}  // namespace unisono::interpose
