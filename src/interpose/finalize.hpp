#pragma once

#include <mpi.h>

namespace unisono::interpose {

/// What MPI_Finalize begins with: ends what is pending, and writes what collective calls have left
/// in memory, for programs that end without closing their files, with a line for each of these on
/// one rank. Not in a callback of the MPI library's own: threads may not use MPICH there. Where
/// there is no MPI_Init, as with sessions only, the end of the files' communicators has to do.
/// Collective over each of the files; their order is that in which they were opened, as any order
/// in which a program can open them is one in which nobody waits in a circle.
int before_finalize();

/// What MPI_Comm_free begins with: writes what is in memory of the files that are open on it. Their
/// next sync, or close, tells of errors. Collective as before.
void before_free(MPI_Comm comm);

}  // namespace unisono::interpose
