#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "unisono/backend.hpp"

namespace unisono::interpose {

/// A handle of this rank's own, which exists already, to read and write as `access_mode` says; its
/// errors are returned.
///
/// Null when it cannot be opened, which no error handler of the program hears of, or without
/// MPI_Init (there is no MPI_COMM_SELF then). `threaded`: other threads may call MPI meanwhile.
/// Null there, too, where the program's handler for failed opens is not MPI_ERRORS_RETURN.
MPI_File open_alone(std::string const& path, int access_mode, bool threaded);

/// Contiguous independent calls of the MPI library on such a handle, for what only the MPI library
/// can open (driver prefixes, paths that are no paths of the system). One call per transfer; errors
/// come back as the nearest errno. Null where open_alone() is.
std::unique_ptr<Backend> make_mpiio_backend(std::string const& path, int access_mode,
                                            bool threaded);

}  // namespace unisono::interpose
