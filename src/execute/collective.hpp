#pragma once

#include <string_view>

#include "exchange/rendezvous.hpp"
#include "execute/cached.hpp"
#include "execute/gathered.hpp"
#include "execute/request.hpp"
#include "select/measured.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// An open file as its collective calls find it.
struct CollectiveFile {
    Team& team;
    Rendezvous& rendezvous;
    Storage const& storage;
    Layout const& layout;
    Options const& options;
    /// The team's; used where the options ask for it. Tell it when a call has ended, unless it
    /// failed.
    Measured& measured;
    GatheredFacts& gathered;
    CachedFile* cache = nullptr;  ///< if it has one; calls that are not done through it drain it
};

/// How a collective call went, as far as this rank's caller needs to know.
struct Outcome {
    bool native = false;       ///< nothing was done: all ranks must call the MPI library
    std::int32_t refusal = 0;  ///< nothing was done: MPI error class of bad arguments
    std::uint32_t refusing_rank = 0;
    std::uint64_t bytes = 0;  ///< of this rank's request, in data order, truly moved
    Verdict verdict;          ///< agreed by all ranks
    std::string_view strategy;
    std::string_view why;
    std::string_view refusal_of_strategy;  ///< why the one that was asked for could not do it
    std::size_t aggregators = 0;
    double met_after_s = 0;  ///< when all ranks were there: what was before is nobody's fault
};

/// What this rank brings to the call: bounds, sizes, what its storage can do. The caller adds
/// what only it knows (bad arguments, things that must go to the MPI library).
Proposal propose(Request const& request, Storage const& storage);

/// Does one collective call: agree, choose, execute, agree. Two meetings of all ranks, one more
/// exchange for strategies that gather (none when the call repeats), and one meeting per round of a
/// staged plan on each node. Collective over the team; every rank gets the same verdict.
Outcome perform_collective(CollectiveFile const& file, Request const& request, Proposal proposal,
                           CallRecord& record);

}  // namespace unisono
