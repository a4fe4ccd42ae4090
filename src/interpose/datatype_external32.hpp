#pragma once

#include "interpose/datatype_contents.hpp"

namespace unisono::interpose {

/// What a predefined type of so many bytes consists of. Unknown where the compiler that the MPI
/// library was built with made Fortran's default kinds longer than files have them.
Units units_of_predefined(MPI_Datatype type, std::uint64_t bytes);
Units derived_units(Envelope const& envelope, Contents const& contents, std::uint64_t bytes);

/// The Decoder of types as files have them.
DatatypePtr external32_or_throw(MPI_Datatype type, Keep keep);

}  // namespace unisono::interpose
