#pragma once

#include <mpi.h>

#include "interpose/entry_points.h"

namespace unisono::interpose {

/// The functions of the MPI library (or of the next tool in the chain), by unisono_entry_*.
extern unisono_function const* native_functions;

}  // namespace unisono::interpose

/// The native function of an entry point with its own type: UNISONO_NATIVE(File_open)(comm, ...).
/// Names no symbol of the MPI library.
#define UNISONO_NATIVE(name)                   \
    (reinterpret_cast<decltype(&PMPI_##name)>( \
        ::unisono::interpose::native_functions[unisono_entry_##name]))

namespace unisono::interpose {

/// Whether the MPI library has done with a request of Unisono's own; then it is null.
inline bool is_over(MPI_Request& request) {
    int over = 0;
    UNISONO_NATIVE(Test)(&request, &over, MPI_STATUS_IGNORE);
    return over != 0;
}

}  // namespace unisono::interpose
