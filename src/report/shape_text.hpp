#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "unisono/shape.hpp"

namespace unisono {

/// A shape as JSON, for recordings: `{"bytes": 8}`, `{"count": 4, "stride": 16, "of": SHAPE}`,
/// `{"offsets": [0, 20], "bytes": [8, 4]}` or `{"offsets": [0, 20], "of": [SHAPE, SHAPE]}`, each
/// with `"at"` where it is shifted. Nothing when its index lists are longer than `entries_at_most`
/// in all. Cost: O(description), never its pieces.
std::string shape_text(Shape const& shape, std::size_t entries_at_most);

/// Null if the text is not one of shape_text(). The same bytes in the same order; how its loops are
/// nested may differ.
ShapePtr shape_from_text(std::string_view text);

}  // namespace unisono
