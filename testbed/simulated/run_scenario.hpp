#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulated/scenario.hpp"
#include "simulated/simulated_team.hpp"

namespace unisono::simulated {

/// How a scenario went.
struct Judgement {
    /// What is wrong with what the executor did; empty: nothing.
    std::vector<std::string> complaints;
    Ended ended;
    bool file_error = false;   ///< the calls ended with the error of a fault
    std::uint64_t digest = 0;  ///< of the order of events and of the file in the end

    [[nodiscard]] bool deadlocked() const { return !ended.deadlock.empty(); }
    [[nodiscard]] bool wrong() const { return deadlocked() || !complaints.empty(); }
    /// Complaints, and where each rank stands, for people.
    [[nodiscard]] std::string text() const;
};

/// Runs the real executor on a simulated team and a file in memory, and compares what it did with
/// what MPI wants: bytes in the file and in the ranks' memory, counts, one outcome for all. Where
/// an access fails, the calls end with it: no byte may be one that nobody wrote, and what was
/// counted must be there.
Judgement run(Scenario const& scenario, std::function<void(Event const&)> const& trace = {});

}  // namespace unisono::simulated
