#pragma once

#include <string>
#include <string_view>

#include "unisono/plan.hpp"

namespace unisono {

/// Which MPI library a program runs with.
struct MpiLibrary {
    enum class Family : std::uint8_t { unknown, mpich, openmpi };

    Family family = Family::unknown;
    std::string name;  ///< with its version, e.g. "MPICH 4.0.2"; "unknown MPI"
};

/// From the text of MPI_Get_library_version. Pure.
MpiLibrary parse_mpi_library(std::string_view version_text);

/// Why a selector must not choose the MPI library's own collective call here: a fault that is known
/// of it and that the facts do not exclude. Empty: none. Pure, O(1).
///
/// Correct before fast, so a library of which nothing is known is never chosen. It can still be
/// asked for by name.
std::string_view native_fault(MpiLibrary const& library, Facts const& facts,
                              Options const& options);

}  // namespace unisono
