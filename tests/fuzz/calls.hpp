#pragma once

#include <mpi.h>

#include "case.hpp"

namespace fuzz {

/// Makes the one MPI call (or the pair of calls) that `access` describes. Returns its error code.
int call_access(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                MPI_Status* status);

/// Only the first half: of a nonblocking call, which gives a request, or a split one.
int begin_access(MPI_File file, Access const& access, void* buffer, MPI_Datatype type,
                 MPI_Request* request);
/// The second half of a split one.
int end_split(MPI_File file, Access const& access, void* buffer, MPI_Status* status);

}  // namespace fuzz
