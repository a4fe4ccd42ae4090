#pragma once

#include <mpi.h>

namespace unisono::interpose {

/// Whether Unisono may take over files of `comm`: every rank runs this very build of it, and on
/// none it is switched off. `takes_part`: it is not on this rank. The same answer on all ranks.
///
/// Collective the first time, one reduction of 16 bytes; the answer stays with the communicator and
/// its duplicates. Where ranks differ, rank 0 says on standard error which have what.
///
/// A rank without Unisono cannot answer, and nothing can be sent to it that its program might not
/// receive. After 10 s each rank that waits says so; after 60 s it ends the program, which would
/// wait for ever. Call it when all ranks have just met, so that nobody is merely late.
bool all_take_part(MPI_Comm comm, bool takes_part);

}  // namespace unisono::interpose
