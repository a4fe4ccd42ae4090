#pragma once

#include <string>

#include "layouts/file_probe.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// Gives a new, empty file the striping of Options::striping_unit and striping_factor on file
/// systems that the MPI library does not know: CephFS and the testbed's, by attributes. To be
/// called by one rank, between creating the file and its first byte.
///
/// @return why it did not work; empty if it did, or if there was nothing to do.
std::string apply_striping(int descriptor, Options const& options);

/// The same for a file that answers through `probe`.
std::string apply_striping(FileProbe const& probe, Options const& options);

}  // namespace unisono
