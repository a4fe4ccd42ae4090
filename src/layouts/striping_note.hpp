#pragma once

#include <cstdint>
#include <string>

#include "unisono/layout.hpp"

namespace unisono {

/// What the user should know about the striping of a file that `ranks` processes accessed
/// collectively, of this size; empty: nothing. Files below 256 MiB are too small to matter, and one
/// rank alone needs no more than one server.
/// Source: the thresholds are ours; sites advise the same (one server for small files, many for
/// shared large ones). Cost: O(1).
std::string striping_note(Layout const& layout, std::uint64_t file_bytes, std::uint32_t ranks);

}  // namespace unisono
