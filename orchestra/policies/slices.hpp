#pragma once

#include <vector>

#include "orchestra/policy.hpp"
#include "orchestra/report.hpp"
#include "orchestra/time.hpp"

namespace unisono::orchestra {

/// Slices of a window in proportion to weights, which are above 0.
std::vector<Time> proportional_slices(Time window, std::vector<double> const& weights);

/// The same, but none below `least` and none above `most`; if that cannot be, they are equal. What
/// one cannot have or give goes to the others in proportion.
std::vector<Time> bounded_slices(Time window, std::vector<double> const& weights, Time least,
                                 Time most);

/// Programs that wanted something within the last `recent`.
std::vector<ProgramReport const*> wanting(Report const& report, Time recent);

/// Mean over the servers at which there are at least `samples_min` samples.
struct MeasuredMean {
    double ms = 0;
    std::size_t servers = 0;
};
MeasuredMean mean_over_servers(ProgramReport const& program, double ServerPart::*value,
                               double ServerPart::*samples, double samples_min);

/// A policy whose decision for a window, of 500 ms if the settings say nothing, follows from the
/// last report alone.
std::unique_ptr<Policy> make_memoryless_policy(Decision (*decide)(Report const& report,
                                                                  Time window),
                                               PolicySettings const& settings);

}  // namespace unisono::orchestra
