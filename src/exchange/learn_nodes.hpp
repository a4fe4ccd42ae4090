#pragma once

#include <string>

#include "exchange/team.hpp"
#include "unisono/topology.hpp"

namespace unisono {

/// Completes the team's topology with what nodes are called and what they have. Collective over the
/// team; cost: an exchange of 80 bytes a rank.
void learn_nodes(Team& team, Topology& topology, std::string const& own_name);

}  // namespace unisono
