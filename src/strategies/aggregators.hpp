#pragma once

#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// Ranks that aggregate: `wanted` of them (0: every rank) spread round-robin over the nodes,
/// lowest ranks of each node first; ascending. Cost: O(ranks).
std::vector<std::uint32_t> spread_over_nodes(Topology const& topology, std::uint32_t wanted);

/// How many aggregators each node may have: cb_config_list says, else one for each of its ranks.
std::vector<std::uint32_t> aggregators_allowed(Facts const& facts, Options const& options);

/// The aggregators of a strategy that has no wish of its own, ascending; at least one. The same in
/// all calls on a file.
///
/// cb_config_list and cb_nodes, where they are given, as in ROMIO. Otherwise every rank where the
/// file system is the node's own; elsewhere one for each data server, but at least one for each
/// network card of each node. Cost: O(ranks).
std::vector<std::uint32_t> choose_aggregators(Facts const& facts, Options const& options);

/// The same, but where nobody has said how many, no more than the call touches stripe units,
/// between which realms are cut.
std::vector<std::uint32_t> choose_aggregators_of_call(Facts const& facts, Options const& options);

/// The same, but as many more as make equally many on each node: for realms that any node may own.
std::vector<std::uint32_t> choose_equally_many_of_nodes(Facts const& facts, Options const& options);

/// Of `candidates`, the `count` with the most bytes in the call, ties to the lowest; ascending.
/// Needs Facts::ranks.
std::vector<std::uint32_t> with_most_bytes(Facts const& facts,
                                           std::vector<std::uint32_t> candidates,
                                           std::size_t count);

}  // namespace unisono
