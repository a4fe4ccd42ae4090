#pragma once

#include <array>
#include <span>
#include <string>

#include "exchange/team.hpp"
#include "unisono/topology.hpp"

namespace unisono {

/// What a node is called and what it has, as ranks send it.
struct NodeFacts {
    Machine machine;
    std::array<char, 72> name{};
};

/// This rank's node. Cost: some files of /sys.
NodeFacts facts_of_own_node(std::string const& name);

/// Completes a topology; `nodes` in its order.
void describe_nodes(Topology& topology, std::span<NodeFacts const> nodes);

/// The same by one exchange of all ranks. Collective over the team; cost: 80 bytes a rank.
void learn_nodes(Team& team, Topology& topology, std::string const& own_name);

}  // namespace unisono
