#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace unisono {

/// Whether this processor can do the following.
bool can_drop_from_caches();

/// Writes memory back that is in some cache, and has it in none, also of other cores; its bytes
/// stay what they are. Cost: some ns for each line of 64 bytes.
void drop_from_caches(std::span<std::byte> memory);

/// memcpy that has whole lines of the target in no cache afterwards, and need not take them from
/// another one before (nontemporal stores). Others see them after finish_stores_past_caches().
void store_past_caches(std::byte* to, std::byte const* from, std::uint64_t bytes);
void finish_stores_past_caches();

}  // namespace unisono
