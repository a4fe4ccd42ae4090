#pragma once

#include <array>
#include <vector>

#include "execute/staged/mail_block.hpp"
#include "execute/staged/staged_call.hpp"

namespace unisono {

/// The messages about windows as an aggregator gets and answers them, whoever sends them, in the
/// order in which they come: the head says which window it is about.
class AggregatorMail {
public:
    explicit AggregatorMail(StagedCall& call) : call_{call} {}

    /// Data for this rank's windows. Waits for all of the round, in however many messages.
    void receive_data(Round const& round);
    /// What others want of this rank's windows, to be answered in the same round. Waits for all.
    void receive_requests(Round const& round);
    /// Answers all of the round's requests.
    void reply(Round const& round);

private:
    using Received = Team::Received;

    template <class Use>
    void for_each_message(Round const& round, Team::Kind kind, Use&& use);
    void put_in_window(Round const& round, Block const& block) const;
    void mark_wanted(Round const& round, Block const& request) const;
    void reply(Round const& round, std::uint32_t to, Message const& request) const;
    void append_answer(Round const& round, Block const& request, Message& answers) const;

    StagedCall& call_;
    std::vector<Received> early_;                    // of ranks that are a round ahead
    std::array<std::vector<Received>, 2> requests_;  // by side
};

}  // namespace unisono
