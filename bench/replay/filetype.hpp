#pragma once

#include <mpi.h>

#include <cstdint>

#include "unisono/shape.hpp"

namespace bench::replay {

// All functions are local and return committed types, which the caller frees. They throw
// std::runtime_error for counts that MPI's calls cannot take.

/// `bytes` bytes side by side, also more than an int counts.
MPI_Datatype bytes_type(std::uint64_t bytes);

/// The shape as a filetype whose tiles are `extent` bytes apart.
MPI_Datatype filetype_of(unisono::Shape const& shape, std::int64_t extent);

}  // namespace bench::replay
