#pragma once

#include "interpose/data_call.hpp"

namespace unisono::interpose {

/// A data call at an explicit offset, done by the MPI library for this rank alone: through a handle
/// of its own with the file's view, since to tell the file's handle of a view would wait for other
/// ranks. Returns a code of the library's; nothing is raised. Local.
int call_alone(File const& file, DataCall const& call, MPI_Status* status);

}  // namespace unisono::interpose
