#pragma once

#include <vector>

#include "exchange/team.hpp"
#include "execute/request.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// What strategies asked to know of every rank (Strategy::gathers, Strategy::cell_bytes) in the
/// calls on one file. Kept for the next call: when all ranks ask for the same bytes again, nothing
/// is sent. Memory: 24 bytes a rank, and 8 a rank and server where a strategy wants those; 16 a
/// cell.
class GatheredFacts {
public:
    /// Tells the others whether what was gathered last is still true of this rank. Local.
    void announce(Proposal& mine, Request const& request);

    /// The facts with what the strategy wants in them, to which they refer until the next call.
    /// `unchanged`: all ranks announced so. Collective unless unchanged and wanted before.
    Facts complete(Facts facts, Strategy const& strategy, Options const& options, bool unchanged,
                   Team& team, Request const& request);

    /// The file's layout is another one now.
    void forget() {
        has_ = Gathers::nothing;
        cell_bytes_ = 0;
    }

private:
    /// What this rank asks for, as far as it can be compared.
    struct Asked {
        Extent touched;
        std::uint64_t bytes = 0;
        std::uint64_t request_hash = 0;
        friend bool operator==(Asked const&, Asked const&) = default;
    };

    void gather(Gathers wanted, Facts const& facts, Team& team, Request const& request);
    void find_holders(std::uint64_t cell_bytes, Facts const& facts, Team& team,
                      Request const& request);

    Gathers has_ = Gathers::nothing;
    std::uint64_t cell_bytes_ = 0;  // of cells_; 0: there are none
    Asked gathered_;                // when all this was
    Asked now_;
    Tiling gathered_view_;  // cells say where a node's bytes are, so that sizes alone will not do
    Tiling view_now_;
    std::vector<RankFacts> ranks_;
    std::vector<std::uint64_t> server_bytes_;
    std::vector<CellHolder> cells_;
};

}  // namespace unisono
