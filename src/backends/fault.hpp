#pragma once

#include <memory>
#include <string_view>

#include "unisono/backend.hpp"

namespace unisono {

/// Wraps `inner`, so that accesses go wrong as specified (options/fault_text.hpp). Null when the
/// specification is invalid. Cost: the delays, and for `short` several inner accesses for each one.
std::unique_ptr<Backend> make_fault_backend(std::unique_ptr<Backend> inner,
                                            std::string_view specification);

}  // namespace unisono
