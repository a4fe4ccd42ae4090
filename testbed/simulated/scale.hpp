#pragma once

#include <cstdint>
#include <string>

#include "simulated/links.hpp"

namespace unisono::simulated {

/// One collective write, and a read of the same, of many ranks: each has blocks that are dealt in
/// turn, as in a checkpoint of a block-cyclic array.
struct ScaleCase {
    std::uint32_t ranks = 1024;
    std::uint32_t ranks_per_node = 32;
    std::uint64_t block_bytes = 4096;
    std::uint64_t bytes_per_rank = 256 * 1024;  ///< a multiple of block_bytes
    std::string strategy = "two_phase";
    bool intra_node_aggregation = true;
    std::uint64_t cb_buffer_size = 1 << 20;
    std::uint32_t cb_nodes = 0;  ///< 0: the strategy decides
    /// Ranks share one buffer, and the file keeps nothing: memory for what is under way alone.
    /// Plans, messages and times are the same; what arrives is not compared.
    bool sizes_only = false;
    Network network;
};

struct ScaleResult {
    std::string wrong;   ///< empty: every byte is where it belongs, as far as there are any
    double write_s = 0;  ///< on the virtual clock; file accesses take no time
    double read_s = 0;
    std::uint64_t messages = 0;  ///< of all ranks, in both
    std::uint64_t message_bytes = 0;
    std::uint64_t awaits = 0;
    std::size_t aggregators = 0;
};

ScaleResult run(ScaleCase const& scale);

}  // namespace unisono::simulated
