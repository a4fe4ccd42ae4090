#pragma once

#include "execute/performed.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Performs a staged plan: round by round, data goes through the aggregators' collective buffers.
///
/// On one node the buffers are windows in shared memory: every rank scatters its pieces straight
/// from (or gathers them to) the user's memory, one copy. Between nodes a rank sends an aggregator
/// one packed message a round. Two windows per aggregator take turns, so that one meeting of the
/// node's ranks a round is enough, and file I/O goes on while another round's window is filled or
/// handed out.
///
/// @param alignment  OR of all offsets and lengths of the call: how fine coverage has to be.
/// @return what this rank missed as an aggregator (errors, end of the file); the lowest stopped_at
///         of all ranks is how far every rank's data got. Reads have agreed on it where they have
///         met anyway: when the last window was read.
/// Memory: per aggregator 2 windows and their coverage (1/8), and what comes a round too early; per
/// rank at most two rounds' messages. Source: two-phase I/O; the exchange through shared memory and
/// exact coverage are ours.
Performed perform_staged(Team& team, Rendezvous& rendezvous, Storage const& storage,
                         Facts const& facts, std::uint64_t alignment, Plan const& plan,
                         Request const& request, CallRecord& record);

}  // namespace unisono
