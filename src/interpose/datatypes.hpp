#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "access/external32.hpp"
#include "unisono/shape.hpp"

namespace unisono::interpose {

/// An MPI datatype as Unisono sees it: which bytes of one element hold data, and how far apart
/// elements lie. Immutable.
struct Datatype {
    ShapePtr shape;
    std::int64_t lower_bound = 0;  ///< bytes, may be negative
    std::int64_t extent = 0;       ///< bytes from one element to the next, may be negative or zero
    std::uint64_t bytes = 0;       ///< data bytes in one element
    /// Made in ways that every MPI library takes as a file view. Not plain: structs, nested index
    /// lists, pair types, lower bounds, large counts. MPICH 4.0.2 aborts in MPI_File_set_view for
    /// some of those, and takes others for descending and returns from it on one rank alone.
    bool plain = true;
    Units units;  ///< of its data; unknown: some of it has no external32 that Unisono knows
    bool has_bounds = false;  ///< stated ones, which count more than what data there are

    /// Elements one after the other are bytes one after the other, from where the first one begins.
    [[nodiscard]] bool dense() const { return shape->dense_at(extent) && shape->low == 0; }
};

/// Decodes any datatype, committed or not. Null and an MPI error class in `*mpi_error` when it
/// cannot: MPI_ERR_TYPE for MPI_DATATYPE_NULL, MPI_ERR_UNSUPPORTED_OPERATION for a type that this
/// MPI describes in a way that Unisono does not know (leave such a call to the MPI library), or
/// what the MPI library said. Any other invalid handle is as fatal as in MPI_Type_size: ask
/// `unusable()` first where that matters.
///
/// The result is kept with the datatype, so the first call costs the type's description (never its
/// elements) and later ones a look-up. Thread-safe. Local; MPI must be initialised.
std::shared_ptr<Datatype const> decode(MPI_Datatype type, int* mpi_error);

/// What decode() has made of a named type, as most calls have, for ever and at the cost of the
/// look-up: null for all others, and before. Such a type is not unusable().
std::shared_ptr<Datatype const> const* named_and_decoded(MPI_Datatype type);

/// The same as decode() for a type that will hardly be seen again, as that of a view: the result is
/// kept only where the description is long.
std::shared_ptr<Datatype const> decode_once(MPI_Datatype type, int* mpi_error);

/// What the type is in files of the representation "external32": the shape, the bounds and the
/// bytes that its construction gives where every predefined type has its length there and is
/// aligned to nothing; units are not filled in. Displacements that the program gave in bytes stay
/// as they are. Results as decode(), but nothing is kept: each call costs the type's description.
/// Source: MPI 4.1, section 15.5.1. Pairs (MPI_FLOAT_INT), of whose layout it does not say
/// anything, lie without gaps.
std::shared_ptr<Datatype const> decode_external32(MPI_Datatype type, int* mpi_error);

/// It has no parts, and may not be freed. Any valid datatype.
bool predefined(MPI_Datatype type);

/// No stride, displacement or bound that it was made with is negative, and no part of it is a
/// distributed array, on any level. Cost: its description, of which nothing is made. Any valid
/// datatype.
bool plainly_made(MPI_Datatype type);

/// MPI_SUCCESS if data can be moved with `type`; MPI_ERR_TYPE if it is null, not committed or no
/// datatype at all. `quiet` is any communicator whose error handler is MPI_ERRORS_RETURN, or one of
/// Unisono's own (end_program_by_errors_on()).
/// Local, no communication; costs an empty MPI_Pack.
int unusable(MPI_Datatype type, MPI_Comm quiet);

}  // namespace unisono::interpose
