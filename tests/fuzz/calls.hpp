#pragma once

#include <mpi.h>

#include "case.hpp"

namespace fuzz {

/// Makes the one MPI call (or the pair of calls) that `access` describes. Returns its error code.
int call_access(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                MPI_Status* status);

}  // namespace fuzz
