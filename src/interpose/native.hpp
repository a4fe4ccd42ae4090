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
