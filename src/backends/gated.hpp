#pragma once

#include <memory>

#include "unisono/admission_gate.hpp"
#include "unisono/backend.hpp"

namespace unisono {

/// Has every access wait at the gate for its program's turn, before `inner` begins it. Moves the
/// same bytes in the same way.
std::unique_ptr<Backend> make_gated_backend(std::unique_ptr<Backend> inner,
                                            std::shared_ptr<AdmissionGate> gate);

}  // namespace unisono
