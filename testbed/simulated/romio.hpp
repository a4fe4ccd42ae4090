#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "execute/request.hpp"
#include "simulated/simulated_team.hpp"

namespace unisono::simulated {

/// ROMIO's collective calls as they cost on a network (adio/common: ad_aggregate.c,
/// ad_write_coll.c, ad_read_coll.c of MPICH 4.0), for comparison at sizes where it cannot be run:
/// an aggregator on each node, even file domains, a collective buffer of 16 MiB.
///
///     once     all ranks gather everybody's first offset, then the last one (8 bytes a rank each);
///              numbers of pieces to all (4 bytes for each pair of ranks);
///              each rank sends each aggregator its pieces there, as 16 bytes each;
///              aggregators access from the first to the last byte that anybody wants of theirs;
///              a reduction: how many rounds
///     a round  sizes to all (4 bytes for each pair of ranks), data, file access where anybody
///              wants something of a window, one after another
///     writes   a reduction: whether there was an error
///
/// Its CPU time (flattening, heaps, copies) costs nothing here, as Unisono's does not, nor does it
/// read what it then writes. No byte is moved: messages and accesses have their sizes.
class RomioModel {
public:
    explicit RomioModel(std::uint64_t cb_buffer_size = 16 << 20)
        : cb_buffer_size_{cb_buffer_size} {}

    /// One collective call. Collective over the team; one model for all its ranks.
    void perform(SimulatedTeam& team, Backend& file, Request const& request);

private:
    friend class RomioCall;

    /// What a rank wants of a domain.
    struct Wanted {
        Extent hull;  ///< from its first to its last byte there
        Request const* request;
    };
    /// What ranks have for an aggregator, or want of it.
    using Asked = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

    std::uint64_t cb_buffer_size_;
    // Of the call under way, by aggregator: who wants something of its domain.
    std::vector<std::vector<Wanted>> wanted_;
    std::uint32_t told_ = 0;  // ranks that have said what they want
    // By exchange in turn, by aggregator: what MPI_Alltoall tells, where what it costs is counted.
    std::array<std::vector<Asked>, 2> asked_;
};

}  // namespace unisono::simulated
