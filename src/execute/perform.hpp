#pragma once

#include "execute/collective.hpp"
#include "execute/performed.hpp"

namespace unisono {

/// A call with all that was decided of it: equal on all ranks.
struct PlannedCall {
    Facts facts;
    Plan plan;
    std::uint64_t alignment = 0;  ///< OR of all offsets and lengths
    bool write_through = false;   ///< its data must be in the file at its end
};

/// Brings the file's cache into the state that the plan wants: drained, or with room for the call.
/// Collective; false on all ranks when there is no memory to be had.
bool prepare_cache(PlannedCall const& call, bool drain_first, CollectiveFile const& file,
                   CallRecord& record);

/// Does this rank's share of what was planned, in any way but native. Collective; its own result
/// are bytes of this rank where each rank accesses the file for itself, and what this rank missed
/// as an aggregator else.
Performed perform(PlannedCall const& call, CollectiveFile const& file, Request const& request,
                  CallRecord& record);

}  // namespace unisono
