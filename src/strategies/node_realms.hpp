#pragma once

#include <vector>

#include "unisono/plan.hpp"

namespace unisono {

/// Whether realms may end where a node's data do: the user has not said who aggregates, nodes
/// access the file over links of their own, and may share pages.
bool may_cut_at_nodes(Facts const& facts, Options const& options);

/// What each node's ranks ask for, by node, where that is a range of its own, one after the other,
/// as equal contiguous parts in rank order are on nodes with blocks of ranks. Empty: it is not, or
/// nobody knows. Without Facts::ranks; O(nodes).
std::vector<Extent> ranges_of_nodes(Facts const& facts);

/// The file bytes of one of Facts::cells.
Extent extent_of_cell(Facts const& facts, std::size_t cell);

/// How large cells must be to find out who holds what (Strategy::cell_bytes); 0: that is known, or
/// not worth a reduction.
std::uint64_t cell_bytes_of_nodes(Facts const& facts, Options const& options);

/// How much a request has of each cell of what all ranks touch. Cost: O(cells that it meets), each
/// O(depth).
std::vector<std::uint64_t> bytes_by_cell(std::uint64_t cell_bytes, Extent touched_by_all,
                                         Realm const& request);

/// By node, what it had best own because its own ranks ask for it: its range, or the cells of which
/// they ask for most. Empty: nobody knows, or the realms of `even` keep links no busier. Cost:
/// O(nodes + cells).
std::vector<Realm> realms_of_nodes(Facts const& facts, Options const& options, Plan const& even);

}  // namespace unisono
