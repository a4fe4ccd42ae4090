#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace bench {

/// What a byte of the file should be: a function of its offset and of a salt, so that bytes at the
/// wrong place, stale bytes and missing bytes are all seen.
enum class Salt : std::uint64_t {
    asked = 1,    ///< bytes that the measured call writes or reads
    earlier = 2,  ///< bytes that were in the file before
};

/// Fills `out` with the contents of the file from `offset` on. Cost: about 1 ns per 4 bytes.
void fill_contents(std::span<std::byte> out, std::uint64_t offset, Salt salt);

/// Index of the first byte of `found` that differs from the contents at `offset`, if any.
std::optional<std::size_t> first_difference(std::span<std::byte const> found, std::uint64_t offset,
                                            Salt salt);

}  // namespace bench
