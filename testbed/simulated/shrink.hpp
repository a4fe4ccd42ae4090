#pragma once

#include <cstddef>

#include "simulated/run_scenario.hpp"
#include "simulated/scenario.hpp"

namespace unisono::simulated {

/// A smallest scenario, and what is wrong with it.
struct Shrunk {
    Scenario scenario;
    Judgement judgement;
    std::size_t runs = 0;  ///< that it took
};

/// Makes a scenario that goes wrong smaller, as long as it goes wrong in the same way (a deadlock
/// stays one): fewer calls, ranks, bytes and pieces, plainer options and conditions. What depends
/// on the order of events may need another seed once something is gone, so a few are tried. The
/// same scenario always becomes the same one.
Shrunk shrink(Scenario const& failing, std::size_t runs_max = 3000);

}  // namespace unisono::simulated
