#pragma once

#include <mpi.h>

#include <optional>

#include "interpose/data_call.hpp"

namespace unisono::interpose {

// What most small calls come to: some bytes, together in memory and in the file, for which there is
// nobody to ask but the storage. These find that out, and do it, in a fraction of the steps that a
// call takes which has to be looked into. Their code; nothing was raised yet. Nothing: the call is
// not like that, and nothing was done. Local.

/// An independent call at an offset or the individual pointer. The caller has a hold() of the file.
std::optional<int> perform_plain(File& file, DataCall const& call, MPI_Status* status);

/// This rank's part of a collective call that ranks do each by itself, as the one before it
/// (CachedFile::window_is_direct), and that goes on like that. The rank is in it (InCall).
std::optional<int> perform_plain_part(File& file, DataCall const& call, MPI_Status* status);

}  // namespace unisono::interpose
