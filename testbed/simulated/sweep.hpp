#pragma once

#include <cstddef>
#include <optional>

#include "simulated/scenario.hpp"

namespace unisono::simulated {

struct Swept {
    std::size_t runs = 0;
    std::optional<Scenario> failing;  ///< the first that went wrong
};

/// Runs a scenario once for each of its await points, where that rank stops for a while, and twice
/// for each of its accesses to the file, which fails with EIO and with ENOSPC; without stops and
/// faults of its own.
Swept sweep(Scenario scenario);

}  // namespace unisono::simulated
