#pragma once

#include <cstdint>

#include "unisono/shape.hpp"

namespace unisono {

/// The part of an ascending shape in [low, high), at its old place. Cost: O(depth), and O(n) for
/// each list on the way.
ShapePtr clip(ShapePtr const& shape, std::int64_t low, std::int64_t high);

}  // namespace unisono
