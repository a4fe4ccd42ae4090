#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "exchange/rendezvous.hpp"
#include "execute/ahead.hpp"
#include "execute/cached/cached_file.hpp"
#include "execute/gathered.hpp"
#include "execute/request.hpp"
#include "select/online_tuner.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// An open file as its collective calls find it.
struct CollectiveFile {
    Team& team;
    Rendezvous& rendezvous;
    Storage const& storage;
    Layout const& layout;
    Options const& options;
    OnlineTuner& tuner;  ///< the team's; used where the options ask for it
    GatheredFacts& gathered;
    CachedFile* cache = nullptr;    ///< if it has one; calls that are not done through it drain it
    std::uint64_t storage_key = 0;  ///< for the tuner
    /// Has the MPI library do the call. Called on all ranks or on none, at most once a call.
    std::function<bool()> native = [] { return true; };
    AheadOfAgreement* ahead = nullptr;  ///< null: no rank does anything before an agreement
};

/// How a collective call went, as far as this rank's caller needs to know.
struct Outcome {
    bool native = false;         ///< the MPI library did it: it knows how it went
    bool native_failed = false;  ///< on this rank, at least
    std::int32_t refusal = 0;    ///< nothing was done: MPI error class of bad arguments
    std::uint32_t refusing_rank = 0;
    bool views_differ = false;  ///< why: that rank's new view was refused, others' were not
    bool new_hints = false;     ///< nothing was done: the ranks have to take hints before
    bool local = false;         ///< errors are this rank's own: nothing was agreed on
    std::string fault;          ///< nothing was done: what UNISONO_CHECK found; equal on all ranks
    std::uint64_t bytes = 0;    ///< of this rank's request, in data order, truly moved
    Verdict verdict;            ///< agreed by all ranks
    std::string_view strategy;
    std::string_view why;
    std::string refusal_of_strategy;  ///< why the one that was asked for could not do it
    std::size_t aggregators = 0;
    std::optional<Signature> examined;  ///< the class of calls, if selection examines it

    /// It was Unisono's to move data, whatever came of that.
    [[nodiscard]] bool tried() const { return !native && refusal == 0 && fault.empty(); }
};

/// What only the caller knows of this rank's part in a call.
struct CallerFacts {
    Objection objection;          ///< bad arguments, things that must go to the MPI library
    SinceView since_view{};       ///< what is to be told of it
    std::uint64_t file_hash = 0;  ///< tells files apart for what is kept between calls
    bool native_ready = false;    ///< Facts::native_ready, as far as this rank goes
    /// When this rank began the call, if it may go on since: the file may be growing now.
    std::optional<std::uint64_t> file_bytes;
};

/// Does one collective call: agree, select, plan, perform, agree. Two meetings of all ranks, or one
/// where each has done its part ahead of it (AheadOfAgreement); one more exchange for strategies
/// that gather (none when the call repeats), and a barrier or two per round of a staged plan on
/// each node; more where some rank's memory is a device's; what it was is in the record. Collective
/// over the team; every rank gets the same verdict.
Outcome perform_collective(CollectiveFile const& file, Request const& request,
                           CallerFacts const& caller, CallRecord& record);

}  // namespace unisono
