#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "unisono/layout.hpp"

namespace unisono {

/// More servers than this are a mistake in what a user wrote.
inline constexpr std::uint32_t servers_most = 1 << 16;

/// Reads a layout as people write it: components separated by ";", each with keys separated by ",":
///
///     stripe_bytes=64K,servers=4,first=2
///     end=1M,stripe_bytes=64K,servers=1; stripe_bytes=1M,servers=4
///
/// `stripe_bytes` with K, M or G; units go in turn over `servers` servers, the first one to server
/// `first` (0 unless said). All components but the last have an `end`, exclusive; units are
/// counted from the beginning of the file. Errors: unknown, the reason names the key and what is
/// valid.
Layout parse_layout(std::string_view text, std::string source);

}  // namespace unisono
