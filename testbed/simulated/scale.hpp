#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulated/conditions.hpp"
#include "simulated/patterns.hpp"
#include "simulated/served_reads.hpp"
#include "unisono/layout.hpp"
#include "unisono/options.hpp"
#include "unisono/topology.hpp"

namespace unisono::simulated {

/// Collective writes and reads of the same, of many ranks.
struct ScaleCase {
    std::uint32_t ranks = 1024;
    std::uint32_t ranks_per_node = 32;
    std::string pattern = "strided-4k";  ///< one of scale_patterns()
    std::uint64_t bytes_per_rank = 256 * 1024;
    /// As users say it; "romio": its model; "pieces": each rank an access for each piece, alone
    std::string strategy = "two_phase";
    Switch intra_node_aggregation = Switch::automatic;
    bool as_many_groups_as_servers = false;  ///< of `resonant`, where ranks take turns
    std::uint64_t cb_buffer_size = 0;        ///< 0: the strategy decides
    std::uint32_t cb_nodes = 0;              ///< 0: the strategy decides
    /// Ranks share one buffer, and the file keeps nothing: memory for what is under way alone.
    /// Plans, messages and times are the same; what arrives is not compared.
    bool sizes_only = false;
    Network network;
    /// With servers and disks behind the network's links: reads only, and a file that keeps
    /// nothing.
    std::optional<ServersModel> servers;
    std::vector<ScaleCalls> calls;            ///< by rank; empty: those of `pattern`
    std::function<void()> on_begin;           ///< called once all ranks are there
    std::function<void(Event const&)> trace;  ///< called with each event
};

struct ScaleResult {
    std::string wrong;   ///< empty: every byte is where it belongs, as far as there are any
    std::string chosen;  ///< strategy of the last call
    double write_s = 0;  ///< of all calls, on the virtual clock
    double read_s = 0;
    std::uint64_t calls = 0;     ///< of a rank, in each direction
    std::uint64_t bytes = 0;     ///< of all ranks, in each direction
    std::uint64_t messages = 0;  ///< of all ranks, in both directions
    std::uint64_t write_messages = 0;
    std::uint64_t message_bytes = 0;
    std::uint64_t reduced_bytes = 0;  ///< that one rank brought to reductions, in both directions
    std::uint64_t rounds = 0;         ///< of a rank, in both directions
    std::uint64_t fan_in = 0;         ///< messages of a write to one rank, at most
    std::uint64_t awaits = 0;
    std::size_t aggregators = 0;
    std::size_t node_memory_bytes = 0;  ///< windows and the like, that a node's ranks share
    ServedReads::Counts served;         ///< with modelled servers
};

Topology topology_of(ScaleCase const& scale);
/// Of the network's servers; not known where it has none.
Layout layout_of(Network const& network);

/// Throws std::invalid_argument for a pattern that there is not.
ScaleResult run(ScaleCase const& scale);

}  // namespace unisono::simulated
