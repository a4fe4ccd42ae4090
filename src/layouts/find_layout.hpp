#pragma once

#include "layouts/file_system.hpp"
#include "unisono/layout.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// The layout of an open file on such a file system, by asking in this order: what the user said
/// (Options::layout), the file system, the hints striping_unit and striping_factor, and whether it
/// is a local file system. Unknown when nobody knows; a bad Options::layout is not replaced by
/// another answer. Errors: none, they are reasons. Local to the calling rank: let one ask and send
/// the answer. A file that is still growing may get another layout later (Lustre's components).
/// Cost: a few system calls, on Ceph's kernel client one for each object of a table.
Layout find_layout(int descriptor, FileSystemFacts const& known, Options const& options);
/// The same where nothing is known yet.
Layout find_layout(int descriptor, Options const& options);

/// Of a file on a node's own file system, which has all of it, in such units.
Layout local_layout(std::uint64_t unit_bytes);

}  // namespace unisono
