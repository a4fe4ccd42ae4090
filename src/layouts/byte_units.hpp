#pragma once

#include <cstdint>

namespace unisono {

/// For tests.
inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;
inline constexpr std::uint64_t gib = 1024 * mib;

}  // namespace unisono
