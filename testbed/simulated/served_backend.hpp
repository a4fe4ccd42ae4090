#pragma once

#include <memory>

#include "simulated/simulated_team.hpp"
#include "unisono/backend.hpp"
#include "unisono/layout.hpp"

namespace unisono::simulated {

/// Wraps `inner`, so that accesses take the time that the network's data servers and links need for
/// them, and go on while the rank does other things. A list is one request to each server for each
/// stripe's worth or part of it, all at once, as io_uring's are.
std::unique_ptr<Backend> make_served_backend(std::unique_ptr<Backend> inner, SimulatedTeam& team,
                                             Layout layout);

}  // namespace unisono::simulated
