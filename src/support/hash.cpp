#include "support/hash.hpp"

// All of it in here, for nobody else to see: programs may bring an xxHash of their own.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace unisono {

std::uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t hash64(std::span<std::uint64_t const> numbers) {
    return XXH3_64bits(numbers.data(), numbers.size_bytes());
}

Hash128 hash128(std::span<std::uint64_t const> numbers) {
    auto const hash = XXH3_128bits(numbers.data(), numbers.size_bytes());
    return {hash.low64, hash.high64};
}

}  // namespace unisono
