#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "unisono/backend.hpp"

namespace unisono::interpose {

/// Contiguous independent calls of the MPI library on a handle of this rank's own, for what only
/// the MPI library can open (driver prefixes, paths that are no paths of the system). One call per
/// transfer; errors come back as the nearest errno.
///
/// Null when it cannot be opened, which no error handler of the program hears of, or without
/// MPI_Init (there is no MPI_COMM_SELF then). `threaded`: other threads may call MPI meanwhile.
/// Null there, too, where the program's handler for failed opens is not MPI_ERRORS_RETURN.
std::unique_ptr<Backend> make_mpiio_backend(std::string const& path, int access_mode,
                                            bool threaded);

}  // namespace unisono::interpose
