#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/time.hpp"

namespace unisono::orchestra {

/// Who is served together, and for how long at a time.
struct SchedulingObject {
    /// Ids. Empty: the pool, which has every program that no other object names.
    std::vector<std::string> programs;
    Time slice = 0;
    /// Its slice may end early when it has been idle for so long and others wait.
    Time patience = 0;
};

/// No lease is longer.
inline constexpr Time lease_max = 10 * second;

/// What an orchestrator tells a gate. It holds until a newer one comes or its lease is over.
struct Schedule {
    std::uint64_t epoch = 0;  ///< a gate takes only newer ones
    Time lease = 0;           ///< from when it arrives; then the gate is open
    /// Objects that want nothing lose their turn; else each has its slice, as in the paper.
    bool work_conserving = false;
    std::vector<SchedulingObject> objects;  ///< none: the gate is open
};

std::string show(Schedule const& schedule);

/// Nothing for anything that a gate should not do: malformed text, a lease above 10 s, slices
/// outside 1 ms to 10 s, two pools, a program in two objects, ids above 63 letters, more than 256
/// objects.
std::optional<Schedule> parse_schedule(std::string_view text);

/// An open one if a gate would refuse it: too many programs for turns, or too short ones.
Schedule acceptable(Schedule schedule);

}  // namespace unisono::orchestra
