#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unisono {

/// What a node has of what matters to I/O; at least one of each.
struct Machine {
    std::uint32_t nics = 1;  ///< InfiniBand devices; none: the fastest physical interfaces
    std::uint32_t numa_nodes = 1;

    friend bool operator==(Machine const&, Machine const&) = default;
};

/// Which ranks of a communicator share a node's memory. Equal on all ranks.
struct Topology {
    std::vector<std::uint32_t> node_of;  ///< rank -> node, nodes numbered by lowest rank
    std::vector<std::vector<std::uint32_t>> ranks_of;  ///< node -> its ranks, ascending
    std::vector<std::string> names;  ///< node -> host name; only when cb_config_list needs them
    Machine machine;                 ///< what every node has at least

    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(node_of.size()); }
    [[nodiscard]] std::uint32_t nodes() const {
        return static_cast<std::uint32_t>(ranks_of.size());
    }
    /// Those of its node, itself among them, ascending.
    [[nodiscard]] std::vector<std::uint32_t> const& ranks_near(std::uint32_t rank) const {
        return ranks_of[node_of[rank]];
    }
};

/// Numbers nodes by their lowest rank. `label_of[rank]` is anything equal for ranks of one node.
/// Cost: O(ranks).
Topology make_topology(std::vector<std::uint32_t> const& label_of);

/// This machine, as /sys tells. `sys` stands in for /sys in tests.
Machine read_machine(std::string const& sys = "/sys");

}  // namespace unisono
