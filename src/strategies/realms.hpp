#pragma once

#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// Cuts `touched` into `count` realms of about equal size whose inner cuts are multiples of `unit`.
///
/// @param touched  file bytes [begin, end); may be empty
/// @param count    N >= 1
/// @param unit     U >= 1, bytes
/// @return N extents tiling `touched` in order; fewer units than realms: the last ones are empty.
/// Errors: none; count == 0 or unit == 0 is a caller bug and asserts. Cost: O(N).
/// Source: two-phase I/O (Thakur, Gropp, Lusk, Frontiers '99), even split; aligned as in
///         Liao and Choudhary, SC '08. Differs: spare units go to the lowest-numbered realms.
std::vector<Extent> split_evenly(Extent touched, std::uint32_t count, std::uint64_t unit);

/// Ranks that aggregate: `wanted` of them (0: every rank) spread round-robin over the nodes,
/// lowest ranks of each node first; ascending.
std::vector<std::uint32_t> spread_over_nodes(Topology const& topology, std::uint32_t wanted);

}  // namespace unisono
