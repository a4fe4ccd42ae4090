#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "execute/ahead.hpp"
#include "interpose/mpi_team.hpp"
#include "select/online_tuner.hpp"

namespace unisono::interpose {

/// Whether several of this rank's threads may call MPI at once.
bool threads_may_call_at_once();

/// What those do that are kept with communicators before MPI_Finalize: the program may never free
/// these. Local.
void end_contexts();

/// Unisono's own communicator over the ranks of one of the program's, and the teams made on it.
///
/// Kept with the program's communicator as an attribute, and shared by those that have the ranks of
/// MPI_COMM_WORLD in their order, so that opening many files costs one duplicate in all. Programs
/// with MPI_THREAD_MULTIPLE may do collective calls on two files at once: there, every file has a
/// context of its own, and only where the ranks of its communicator run is kept.
class Context {
public:
    /// The context of `comm`. Collective over `comm`, at least the first time.
    static std::shared_ptr<Context> of(MPI_Comm comm);

    /// `ranks`: of `comm`, introduced once for all contexts on it. Collective.
    Context(MPI_Comm comm, Introduction ranks);
    ~Context();
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int rank() const { return rank_; }

    /// Lets MPI make progress. Local.
    void progress() const;

    /// Rank 0's bytes, on every rank. Collective.
    [[nodiscard]] std::vector<std::byte> from_rank_0(std::vector<std::byte> bytes) const;

    /// Each other rank's bytes, on rank 0 in their order, into `use`. Collective.
    void gather_on_rank_0(std::span<std::byte const> mine,
                          std::function<void(std::span<std::byte const>)> const& use) const;

    /// The sum of lower ranks' values. Collective: one prefix sum.
    [[nodiscard]] std::uint64_t sum_before(std::uint64_t mine) const;

    /// On how many nodes its ranks run, placed like this. Local.
    [[nodiscard]] std::uint32_t nodes(Placement placement) const;
    /// No lower rank runs on this rank's machine.
    [[nodiscard]] bool leads_its_machine() const { return leads_its_machine_; }

    /// What has been learnt of the strategies on this communicator.
    [[nodiscard]] OnlineTuner& tuner() { return tuner_; }
    /// Lets it begin with what earlier runs have learnt, as rank 0 finds it. Collective the first
    /// time. Returns what there is to complain of.
    std::vector<std::string> begin_measuring(Options const& options);
    /// Rank 0 writes down what is new, for later runs; the other ranks return at once. Files may be
    /// closed by the thousand: unless it is the `last` time, only the first, second, fourth, eighth
    /// ... call with something new does. Local. Returns what there is to complain of.
    std::vector<std::string> keep_tuning_records(bool last);
    /// The last time, from where no exception may get out.
    void keep_last_tuning_records();

    /// Remembers what was learnt, and frees what MPI_Finalize would complain of. Local.
    void end();

    /// Calls of several threads may be under way at once, on some rank. Equal on all ranks.
    [[nodiscard]] bool threaded() const { return introduced_.threads_of_some; }
    /// Threads of Unisono's own may call MPI beside the program. Equal on all ranks.
    [[nodiscard]] bool helpers_may_call_mpi() const { return introduced_.threads_of_all; }

    /// The options that rank 0 had for the last file, or null; equal on all ranks.
    [[nodiscard]] std::shared_ptr<Options const> const& last_options() const {
        return last_options_;
    }
    void use(std::shared_ptr<Options const> options) { last_options_ = std::move(options); }

    /// How calls on the last file of a device went, for the first ones on the next there. Local.
    void keep_ahead(std::uint64_t device, AheadOfAgreement const& ahead) {
        ahead_ = {device, ahead.for_next_file()};
    }
    [[nodiscard]] AheadOfAgreement ahead_on(std::uint64_t device) const {
        return ahead_ && ahead_->first == device ? ahead_->second : AheadOfAgreement{};
    }

    /// What has been seen of the servers of a device, as long as no file of another one is opened.
    /// Local.
    [[nodiscard]] std::shared_ptr<ServersSeen> servers_on(std::uint64_t device) {
        if (!servers_ || servers_->first != device)
            servers_ = {device, std::make_shared<ServersSeen>()};
        return servers_->second;
    }

    /// Numbers for the files that are opened on it, which all ranks do in the same order.
    std::uint32_t next_file() { return ++files_; }

    /// The team with this placement. Collective the first time.
    MpiTeam& team(Placement placement);

private:
    struct Entry {
        Entry(MPI_Comm comm, Placement where, Topology topology)
            : placement{where}, team{comm, std::move(topology)} {}
        Placement placement;
        MpiTeam team;
    };

    MPI_Comm comm_ = MPI_COMM_NULL;
    int ranks_ = 1;
    int rank_ = 0;
    Introduction introduced_;
    std::uint32_t machine_count_ = 1;
    bool leads_its_machine_ = true;
    std::list<Entry> teams_;
    OnlineTuner tuner_;
    std::shared_ptr<Options const> last_options_;
    std::optional<std::pair<std::uint64_t, AheadOfAgreement>> ahead_;
    std::optional<std::pair<std::uint64_t, std::shared_ptr<ServersSeen>>> servers_;
    std::uint32_t files_ = 0;
    TuningContext tuning_context_;  // rank 0 only
    std::string tune_path_;         // rank 0 only; empty: nothing is kept
    std::uint32_t chances_to_keep_ = 0;
};

}  // namespace unisono::interpose
