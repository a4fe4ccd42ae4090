#pragma once

#include <cstdint>
#include <vector>

namespace unisono {

/// Which ranks of a communicator share a node's memory. Equal on all ranks.
struct Topology {
    std::vector<std::uint32_t> node_of;  ///< rank -> node, nodes numbered by lowest rank
    std::vector<std::vector<std::uint32_t>> ranks_of;  ///< node -> its ranks, ascending

    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(node_of.size()); }
    [[nodiscard]] std::uint32_t nodes() const {
        return static_cast<std::uint32_t>(ranks_of.size());
    }
};

/// Numbers nodes by their lowest rank. `label_of[rank]` is anything equal for ranks of one node.
Topology make_topology(std::vector<std::uint32_t> const& label_of);

}  // namespace unisono
