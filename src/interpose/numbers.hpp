#pragma once

#include <mpi.h>

namespace unisono::interpose {

/// Constants whose numbers differ between libraries of the MPI-5 standard ABI: Intel MPI's (headers
/// of 2021.17.2, 2021.18.1, 2021.19.0) have those that MPICH had before its pull request 7633.
struct Numbers {
    MPI_Errhandler errors_return;
    MPI_Errhandler errors_abort;  ///< or MPI_ERRORS_ARE_FATAL, where there is none
    int seek_set;
    int seek_cur;
    int seek_end;
};

/// As this process's library has them, which is asked once. MPI must be initialised.
Numbers const& numbers();

}  // namespace unisono::interpose
