#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <vector>

#include "exchange/team.hpp"
#include "execute/staged/round_schedule.hpp"

namespace unisono {

/// How many data bytes come to each window from ranks that share no memory with its aggregator (for
/// reads: are asked for by them). Each sender knows which windows it has bytes in; an aggregator
/// that knows how many come in all needs to know neither who the senders are nor in how many
/// messages they say it. So nobody sends one that says nothing, and each node may put its ranks'
/// messages together, or not, as it likes.
///
/// Learnt for some rounds at a time, by a sum over all ranks of 8 bytes a window, however many
/// ranks there are. (ROMIO's aggregators get a number from each rank in each round.) The idea is
/// that of the sparse exchanges of Hoefler, Siebert and Lumsdaine (PPoPP '10), with a reduction
/// instead of a nonblocking barrier.
class ExpectedData {
public:
    /// Whose they are.
    struct Ranks {
        Team& team;
        Team::Among among = Team::Among::all;  ///< all that send to each other
        /// Bytes that this rank sends to the aggregator of a window; 0 where it shares its memory.
        std::function<std::uint64_t(Round const& round, std::size_t aggregator)> bytes_for;
    };

    /// Learns about the rounds that `ahead` begins with, which follow the last ones that it was
    /// told of; the last one of these is still known, because writes send a round ahead. Collective
    /// over `ranks.among`; returns the sum of their `also`, which costs nothing more. Cost: a
    /// reduction for every 64 Ki windows; O(parts) of local work.
    std::uint64_t learn(Ranks const& ranks, RoundSchedule ahead, std::uint64_t also);
    [[nodiscard]] bool know(std::uint64_t round) const {
        return first_round_ <= round && round < first_round_ + rounds_;
    }

    /// So many bytes come. Only of rounds that are known.
    [[nodiscard]] std::uint64_t bytes(Round const& round, std::size_t aggregator) const {
        assert(know(round.number));
        return bytes_[(round.number - first_round_) * aggregators_ + aggregator];
    }
    /// What a rank has for a window, in the mean of what was learnt about; 0: there is nothing.
    /// Equal on all ranks.
    [[nodiscard]] std::uint64_t mean_message_bytes() const { return mean_message_bytes_; }

private:
    void forget_all_but_last();

    std::size_t aggregators_ = 0;
    std::uint64_t first_round_ = 0;
    std::uint64_t rounds_ = 0;
    std::uint64_t mean_message_bytes_ = 0;
    std::vector<std::uint64_t> bytes_;  // by round, by aggregator
};

}  // namespace unisono
