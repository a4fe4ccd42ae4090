#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace unisono {

/// For identities: where two contents with one digest would be taken for one another, and bytes
/// land in the wrong place.
using Hash128 = std::array<std::uint64_t, 2>;

// XXH3, without a seed: equal in every build, process and run. Cost: some GB/s; no memory.

std::uint64_t hash64(std::string_view bytes);
/// The same of numbers, as they lie in memory.
std::uint64_t hash64(std::span<std::uint64_t const> numbers);
Hash128 hash128(std::span<std::uint64_t const> numbers);

}  // namespace unisono
