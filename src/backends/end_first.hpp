#pragma once

#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// Writes the last page of a long list first where that makes the file longer, and the rest after
/// it. On FUSE Linux lets writes past the end of a file go one at a time on each node, and others
/// beside each other (FOPEN_PARALLEL_DIRECT_WRITES): so only the page goes alone. Moves the same
/// bytes; if the rest fails, that page is there. Cost: a request for each such list. Ours.
std::unique_ptr<Backend> make_end_first_backend(int descriptor, std::unique_ptr<Backend> inner);

}  // namespace unisono
