#pragma once

#include <cstdint>
#include <vector>

#include "unisono/layout.hpp"

namespace unisono {

/// Adds the bytes of `extent` to those of the servers that have them, by server; nothing where the
/// layout is unknown. Cost: O(stripe units in the extent).
void add_server_bytes(std::vector<std::uint64_t>& bytes, Layout const& layout, Extent extent);

}  // namespace unisono
