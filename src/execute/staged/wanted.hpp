#pragma once

#include <vector>

#include "exchange/team.hpp"
#include "execute/request.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Whether to look for what nobody wants: pieces are so far apart, in the mean, that whole cells
/// lie between them. Pure.
bool worth_looking_for_holes(Facts const& facts);

/// Ascending, disjoint extents with all bytes of `facts.touched` that some rank of `among` asks
/// for: holes of whole cells are left out. Found in cells of the file, large ones first, then
/// smaller ones within those that somebody wants: 8 bytes at 0 and 8 at 1 TB take three steps.
///
/// Equal on all ranks of `among`. Collective over the team. Cost: a reduction of 2 KiB a step and
/// O(pieces, at most cells) of local work; each step at least halves what is left. Ours.
std::vector<Extent> find_wanted(Team& team, Team::Among among, Facts const& facts,
                                Request const& request);

}  // namespace unisono
