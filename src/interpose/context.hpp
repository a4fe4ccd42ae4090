#pragma once

#include <mpi.h>

#include <list>
#include <memory>

#include "interpose/mpi_team.hpp"
#include "select/measured.hpp"

namespace unisono::interpose {

/// Unisono's own communicator over the ranks of one of the program's, and the teams made on it.
///
/// Kept with the program's communicator as an attribute, so that opening many files on it costs
/// one duplicate in all. Programs with MPI_THREAD_MULTIPLE may do collective calls on two files of
/// one communicator at once: there, every file has a context of its own, and only where the ranks
/// run is kept.
class Context {
public:
    /// The context of `comm`. Collective over `comm`, at least the first time.
    static std::shared_ptr<Context> of(MPI_Comm comm);

    /// `machines`: machine_labels() of `comm`, found once for all contexts on it. Collective.
    Context(MPI_Comm comm, std::vector<std::uint32_t> machines);
    ~Context();
    Context(Context const&) = delete;
    Context& operator=(Context const&) = delete;

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] int rank() const { return rank_; }

    /// Rank 0's bytes, on every rank. Collective.
    [[nodiscard]] std::vector<std::byte> from_rank_0(std::vector<std::byte> bytes) const;

    /// What has been learnt of the strategies on this communicator.
    [[nodiscard]] Measured& measured() { return measured_; }

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
    std::vector<std::uint32_t> machines_;
    std::list<Entry> teams_;
    Measured measured_;
};

}  // namespace unisono::interpose
