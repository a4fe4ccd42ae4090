#pragma once

#include <cstddef>
#include <span>

namespace unisono {

/// Whether this processor can do the following.
bool can_drop_from_caches();

/// Writes memory back that is in some cache, and has it in none, also of other cores; its bytes
/// stay what they are. Cost: some ns for each line of 64 bytes.
void drop_from_caches(std::span<std::byte> memory);

}  // namespace unisono
