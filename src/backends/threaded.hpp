#pragma once

#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// Lets the accesses of `inner` overlap with what the caller does meanwhile: start() performs each
/// list on a thread of its own, which ends with it. perform() uses no thread.
///
/// `inner` must be thread-safe and must not call MPI. The threads block all signals but those that
/// an access itself can cause; where none can be made, the list is performed at once.
/// Cost: some 20 us per started list. So it is for storage that takes longer than that.
std::unique_ptr<Backend> make_threaded_backend(std::unique_ptr<Backend> inner);

}  // namespace unisono
