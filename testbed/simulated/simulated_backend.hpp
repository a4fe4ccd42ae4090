#pragma once

#include <memory>

#include "simulated/simulated_team.hpp"
#include "unisono/backend.hpp"

namespace unisono::simulated {

/// Wraps `inner`, so that a rank's accesses take their time, let others run, fail where the team's
/// conditions say so, and with Conditions::overlaps are done at some time before they have been
/// waited for. Of an access that fails, some bytes before the one that does are transferred.
std::unique_ptr<Backend> make_simulated_backend(std::unique_ptr<Backend> inner,
                                                SimulatedTeam& team);

}  // namespace unisono::simulated
