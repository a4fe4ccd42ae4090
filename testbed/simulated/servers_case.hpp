#pragma once

#include <cstdint>
#include <string>

#include "model/server.hpp"
#include "simulated/scale.hpp"

namespace unisono::simulated {

/// Collective reads of one file through modelled data servers: an experiment of a paper on a
/// virtual clock, the same on every machine.
/// The first run of a process replays exactly; a later one begins at another time of the clock, and
/// rounds otherwise.
struct ServersCase {
    testbed::Profile profile;
    testbed::ServerOptions options;
    std::uint32_t servers = 4;
    std::uint64_t stripe_bytes = 65536;
    std::uint32_t ranks = 4;
    std::uint32_t ranks_per_node = 1;
    std::uint64_t piece_bytes = 65536;  ///< contiguous, of one rank
    std::uint64_t pieces = 4;           ///< of each rank in a call, in turn with the others'
    std::uint64_t file_bytes = 64 << 20;
    bool dealt = false;  ///< calls are for one piece of each rank, all over the file (IOR, random)
    std::string strategy = "two_phase";  ///< as of ScaleCase
    std::uint32_t cb_nodes = 0;          ///< 0: the strategy decides
    std::uint64_t cb_buffer_size = 0;    ///< 0: the strategy decides
    bool as_many_groups_as_servers = false;
};

/// Throws std::invalid_argument where the file is no whole number of calls.
ScaleCase scale_case_of(ServersCase const& servers);

}  // namespace unisono::simulated
