#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "simulated/scale.hpp"

namespace unisono::simulated {

struct SentBetweenNodes {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;          ///< of data
    std::uint64_t most_from_one = 0;  ///< messages of a rank, or of a node where nodes send
    std::uint64_t fan_in = 0;         ///< messages to one rank, at most
};

/// What a collective write would do that has more ranks than can be run: its plan is made, as each
/// rank makes it, and its messages are counted, from what all ranks ask for.
struct PlannedWrite {
    std::string_view strategy;
    std::size_t aggregators = 0;
    std::uint64_t rounds = 0;
    bool nodes_send = false;  ///< or each rank for itself
    SentBetweenNodes sent;
    std::uint64_t reduced_bytes = 0;  ///< of each rank, so that it knows what comes to it
    double planning_s = 0;            ///< of each rank, on this machine
};

/// The first call of `scale`. Between `scale.on_begin` and `on_planned` memory is made for the plan
/// and its rounds only. Throws std::invalid_argument for a pattern that there is not, and for what
/// is no strategy of ours. Cost: O(pieces of all ranks).
PlannedWrite plan_write(ScaleCase const& scale, std::function<void()> const& on_planned = {});

}  // namespace unisono::simulated
