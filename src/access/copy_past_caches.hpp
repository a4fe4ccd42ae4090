#pragma once

#include "access/copy.hpp"

namespace unisono {

/// copy_data() to memory that other cores use: whole lines of it are not taken from their caches
/// before. Pieces are put side by side in this core's cache first. Cost: O(bytes + pieces), 8 KiB.
void copy_past_caches(Placed const& from, Placed const& to);

}  // namespace unisono
