#pragma once

#include <array>
#include <utility>
#include <vector>

#include "exchange/piece_list.hpp"
#include "execute/staged/staged_call.hpp"

namespace unisono {

/// What a message is about; a list of pieces and packed data follow.
struct MessageHead {
    std::uint64_t round = 0;
    std::uint64_t aggregator = 0;
    std::uint64_t list_bytes = 0;
    std::uint64_t valid_bytes = 0;
};

void put_head(Message& message, MessageHead const& head);
MessageHead head_of(std::span<std::byte const> message);

/// The messages about windows as an aggregator gets and answers them, whoever sends them, in the
/// order in which they come: the head says which window it is about.
class AggregatorMail {
public:
    explicit AggregatorMail(StagedCall& call) : call_{call} {}

    /// Data for this rank's windows. Waits for all of the round.
    void receive_data(Round const& round);
    /// What others want of this rank's windows, to be answered in the same round. Waits for all.
    void receive_requests(Round const& round);
    /// Answers all of the round's requests.
    void reply(Round const& round);

private:
    using Received = Team::Received;

    template <class Use>
    void for_each_message(Round const& round, Team::Kind kind, Use&& use);
    void put_in_window(Round const& round, Message const& message) const;
    void mark_wanted(Round const& round, Message const& request) const;
    void reply(Round const& round, std::uint32_t to, Message const& request) const;

    StagedCall& call_;
    std::vector<Received> early_;                    // of ranks that are a round ahead
    std::array<std::vector<Received>, 2> requests_;  // by side
};

}  // namespace unisono
