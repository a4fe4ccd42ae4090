#pragma once

#include <optional>

#include "exchange/rendezvous.hpp"
#include "execute/request.hpp"

namespace unisono {

/// What came of the part of a call that moves data.
struct Performed {
    IoResult mine;
    /// Of all ranks, where they have met since the last thing that could fail. On all of them or on
    /// none of those that share memory.
    std::optional<Verdict> agreed = {};
};

/// All ranks' results as one verdict, in which the lowest error in the file wins. Collective.
inline Verdict agree_on(IoResult const& mine, Team const& team, Rendezvous& rendezvous,
                        CallRecord& record) {
    Verdict verdict{mine, team.rank()};
    record.lap(Phase::other);
    rendezvous.meet(verdict);
    record.lap(Phase::waiting);
    return verdict;
}

}  // namespace unisono
