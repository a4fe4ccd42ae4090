#pragma once

#include <array>
#include <utility>
#include <vector>

#include "exchange/piece_list.hpp"
#include "execute/staged/staged_call.hpp"

namespace unisono {

/// What a message is about; a list of pieces and packed data follow.
struct MessageHead {
    std::uint64_t aggregator = 0;
    std::uint64_t list_bytes = 0;
    std::uint64_t valid_bytes = 0;
};

void put_head(Message& message, MessageHead const& head);
MessageHead head_of(std::span<std::byte const> message);

/// The messages about windows as an aggregator gets and answers them, whoever sends them. Several
/// aggregators of one rank may get theirs in any order: the head says which one it is for.
class AggregatorMail {
public:
    explicit AggregatorMail(StagedCall& call) : call_{call} {}

    /// Data for a window of this rank. Waits for the message.
    void receive_data(Round const& round, std::uint32_t from) const;
    /// What somebody wants of a window of this rank, to be answered in the same round.
    void receive_request(Round const& round, std::uint32_t from);
    /// Answers all of the round's requests.
    void reply(Round const& round);

private:
    void reply(Round const& round, std::uint32_t to, Message const& request) const;

    StagedCall& call_;
    std::array<std::vector<std::pair<std::uint32_t, Message>>, 2> requests_;  // by side
};

}  // namespace unisono
