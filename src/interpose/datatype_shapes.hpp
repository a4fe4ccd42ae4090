#pragma once

#include "interpose/datatype_contents.hpp"

namespace unisono::interpose {

/// Of a derived type, by its combiner; sets `plain` to whether all parts are.
ShapePtr derived_shape(Envelope const& envelope, Contents const& contents, bool& plain);

}  // namespace unisono::interpose
