#pragma once

#include <mpi.h>

namespace unisono::interpose {

/// What MPI_Finalize begins with: ends what is pending, and calls write_what_is_in_memory(), for
/// programs that end without closing their files. Not in a callback of the MPI library's own:
/// threads may not use MPICH there. Where there is no MPI_Init, as with sessions only, the end of
/// the files' communicators has to do.
int before_finalize();

/// Writes what collective calls have left in memory of the files that are open on `comm`, or of
/// all. Prints a line for each file that needed it, `why` in it, on one rank. Collective over each
/// of the files; their order is that in which they were opened, as any order in which a program can
/// open them is one in which nobody waits in a circle.
void write_what_is_in_memory(char const* why, MPI_Comm comm = MPI_COMM_NULL);

}  // namespace unisono::interpose
