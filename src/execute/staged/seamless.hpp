#pragma once

#include "exchange/team.hpp"
#include "execute/request.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Whether to find out if ranks' pieces lie end to end: they may, and marking each of them takes
/// longer than that does. Pure.
bool may_be_seamless(Facts const& facts);

/// Each byte of `facts.touched` is in one piece of one rank: what all ranks have filled need not be
/// marked. Equal on all ranks. Collective. Cost: access/edges.hpp, and a reduction.
bool is_seamless(Team& team, Facts const& facts, Request const& request);

}  // namespace unisono
