#pragma once

#include <mpi.h>

namespace unisono::interpose {

/// There is an MPI_COMM_WORLD, to be asked what MPI tells from MPI_Init until MPI_Finalize. Not
/// where a program has sessions only, or goes on with sessions after MPI_Finalize. Thread-safe.
inline bool world_is_there() {
    int initialised = 0, finalised = 0;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    return initialised != 0 && finalised == 0;
}

}  // namespace unisono::interpose
