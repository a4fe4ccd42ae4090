#pragma once

#include "support/hash.hpp"
#include "unisono/loops.hpp"

namespace unisono {

/// Equal for equal loops and, as ranks plan by it, for no others; zeros when they are empty.
Hash128 fingerprint(Loops const& loops);

/// For any access, lists too: of its sizes, not of every offset, and not of where it begins.
/// Hardly ever equal for others; 0 when it is empty.
std::uint64_t fingerprint(Tiling const& tiling, Positions positions);

}  // namespace unisono
