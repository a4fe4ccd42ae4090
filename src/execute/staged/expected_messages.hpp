#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "exchange/team.hpp"
#include "execute/staged/round_schedule.hpp"

namespace unisono {

/// For which windows messages go between ranks that share no memory: each sender knows which
/// windows it has bytes in, each aggregator learns how many messages come. So nobody sends one that
/// says nothing, and nobody needs to know who the senders are.
///
/// Learnt for some rounds at a time, by a sum over all ranks of 8 bytes a window, however many
/// ranks there are. (ROMIO's aggregators get a number from each rank in each round.) The idea is
/// that of the sparse exchanges of Hoefler, Siebert and Lumsdaine (PPoPP '10), with counts from a
/// reduction.
class ExpectedMessages {
public:
    /// Whose they are.
    struct Ranks {
        Team& team;
        Team::Among among = Team::Among::all;  ///< all that send to each other
        bool node_aggregated = false;          ///< a node's senders send what all its ranks have
        /// Whether this rank sends to that aggregator what there is for it.
        std::function<bool(std::size_t aggregator)> sends_to;
        /// Whether this rank has bytes in a window.
        std::function<bool(Round const& round, std::size_t aggregator)> has_bytes_in;
    };

    /// Learns about the rounds that `ahead` begins with. Collective over `ranks.among`; returns the
    /// sum of their `also`, which costs nothing more.
    /// Cost: a reduction for every 64 Ki windows, one more with node aggregation; O(parts) of local
    /// work.
    std::uint64_t learn(Ranks const& ranks, RoundSchedule ahead, std::uint64_t also);
    [[nodiscard]] bool know(std::uint64_t round) const {
        return first_round_ <= round && round < first_round_ + rounds_;
    }

    /// This rank sends one about the window of an aggregator. Only of rounds that are known.
    [[nodiscard]] bool sends(Round const& round, std::size_t aggregator) const {
        auto const window = index(round, aggregator);
        return (sends_[window / 64] >> window % 64 & 1) != 0;
    }
    /// So many come.
    [[nodiscard]] std::uint64_t come(Round const& round, std::size_t aggregator) const {
        return come_[index(round, aggregator)];
    }

private:
    [[nodiscard]] std::size_t index(Round const& round, std::size_t aggregator) const {
        return (round.number - first_round_) * aggregators_ + aggregator;
    }

    std::size_t aggregators_ = 0;
    std::uint64_t first_round_ = 0;
    std::uint64_t rounds_ = 0;
    std::vector<std::uint64_t> sends_;  // bits: by round, by aggregator
    std::vector<std::uint64_t> come_;   // by round, by aggregator
};

}  // namespace unisono
