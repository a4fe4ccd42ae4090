#pragma once

#include <optional>
#include <vector>

#include "exchange/rendezvous.hpp"
#include "execute/request.hpp"
#include "execute/staged/expected_data.hpp"
#include "execute/staged/node_windows.hpp"
#include "execute/staged/round_schedule.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// What a staged call is made of.
struct StagedParts {
    Team& team;
    Rendezvous& rendezvous;
    Storage const& storage;
    Facts const& facts;
    Plan const& plan;
    Request const& request;
    CallRecord& record;
};

/// Whether nodes send what their ranks have for other nodes' windows, or each rank its own.
/// `mean_message_bytes`: what a rank has for a window. Pure.
bool nodes_send(Plan const& plan, Facts const& facts, std::uint64_t mean_message_bytes);

/// A staged call as one rank sees it, the same for its exchanges and its file I/O: who asks for
/// what, where the windows are, and which of this rank's bytes are in which of them.
class StagedCall : public StagedParts {
public:
    /// Makes the windows. Collective. What `parts` names must outlive it. `alignment`: OR of all
    /// offsets and lengths of the call.
    StagedCall(StagedParts const& parts, std::uint64_t alignment);

    /// Nodes send to nodes what ranks have left in their memory. Equal on all ranks.
    [[nodiscard]] bool node_aggregated() const { return node_aggregated_; }
    /// Aggregators read only what was asked for. Equal on all ranks that take part in each other's
    /// windows.
    [[nodiscard]] bool exact_reads() const { return exact_reads_; }
    /// All ranks share the windows, and write each byte that is touched once: what is in windows
    /// need not be marked. Equal on all ranks.
    [[nodiscard]] bool seamless() const { return seamless_; }
    /// There is no memory for windows on some rank. Equal on all ranks.
    [[nodiscard]] bool windows_missing() const { return windows_missing_; }
    [[nodiscard]] bool lacks_windows() const { return windows_->missing(); }
    [[nodiscard]] bool any_round_left() const { return schedule_->any_left(); }
    /// Only while there are any. Collective where it is not known.
    [[nodiscard]] Round next_round();
    [[nodiscard]] bool knows_next_round() const {
        return !sends_messages() || expected_.know(schedule_->rounds_taken());
    }

    /// Some data go to ranks with which theirs shares no memory.
    [[nodiscard]] bool sends_messages() const {
        return !windows_->shared() || (team.topology().nodes() > 1 && !plan.within_nodes);
    }
    /// All ranks of the node have them.
    [[nodiscard]] bool shares_windows() const { return windows_->shared(); }
    /// The aggregator shares memory with this rank.
    [[nodiscard]] bool is_near(std::size_t aggregator) const;
    /// Bytes that come to the window of an aggregator here from other memories; for reads, that
    /// these ask for.
    [[nodiscard]] std::uint64_t bytes_from_elsewhere(Round const& round,
                                                     std::size_t own_aggregator) const {
        return sends_messages() ? expected_.bytes(round, own_aggregator) : 0;
    }
    /// The aggregator takes data of that rank.
    [[nodiscard]] bool takes_part(std::size_t aggregator, std::uint32_t rank) const;
    [[nodiscard]] std::span<std::size_t const> own_aggregators() const { return own_; }

    /// Windows that this rank has data in: this rank's own ones first, then the others in turn, so
    /// that not all ranks are at one aggregator at once.
    template <class Use>
    void for_each_window(Round const& round, Use&& use) const {
        for_each_in_turn([&](std::size_t aggregator) {
            if (takes_part(aggregator, team.rank()) && round.meets(aggregator, touched_))
                use(aggregator);
        });
    }
    /// The same for all aggregators.
    template <class Use>
    void for_each_in_turn(Use&& use) const {
        auto const count = plan.aggregators.size();
        for (std::size_t i = 0; i < count; ++i) use((first_ + i) % count);
    }
    /// Calls use(positions, shift) for what this rank has in the first `bytes` of a window; `shift`
    /// makes a file offset one in the window.
    template <class Use>
    void for_own_parts(Round const& round, std::size_t aggregator, std::uint64_t bytes,
                       Use&& use) const {
        for (auto const& [file, at] : round.parts[aggregator]) {
            if (at >= bytes) return;
            auto const end = file.begin + std::min(file.bytes(), bytes - at);
            auto const part = part_in({file.begin, end});
            if (!part.empty()) use(part, at - file.begin);
        }
    }
    [[nodiscard]] std::uint64_t own_bytes(Round const& round, std::size_t aggregator,
                                          std::uint64_t bytes) const;

    [[nodiscard]] std::uint64_t rounds() const { return schedule_->rounds(); }
    [[nodiscard]] std::byte* window(Round const& round, std::size_t aggregator) const {
        return windows_->data(aggregator, round.side());
    }
    [[nodiscard]] std::uint64_t& valid_bytes(Round const& round, std::size_t aggregator) const {
        return windows_->valid_bytes(aggregator, round.side());
    }
    [[nodiscard]] Coverage coverage(Round const& round, std::size_t aggregator) const {
        return windows_->coverage(aggregator, round.side());
    }
    /// This rank's data in the window that has them at `shift` from their place in the file.
    [[nodiscard]] Placed in_window(Round const& round, std::size_t aggregator, Positions part,
                                   std::uint64_t shift) const {
        return {request.view, part,
                reinterpret_cast<std::uintptr_t>(window(round, aggregator)) + shift};
    }

    void send(std::uint32_t to, Team::Kind kind, Message message) {
        ++sent_;
        team.send(to, kind, std::move(message));
    }
    /// At most this round's messages stay under way: bounded memory, bounded fan-in.
    void end_round() {
        ++record.rounds;
        team.finish_sends(std::exchange(sent_, 0));
    }

    /// Others may be waiting for messages of this rank, which only move while it lets them.
    template <class Ended>
    void let_messages_pass_until(Ended&& ended) const {
        if (!sends_messages()) return;
        while (!ended()) team.idle();
    }

    /// All ranks of the node are there.
    void barrier() {
        rendezvous.barrier();
        record.lap(Phase::waiting);
    }

private:
    [[nodiscard]] Positions part_in(Extent range) const {
        range = intersect(range, touched_);
        return range.empty() ? Positions{} : within(request.view, request.positions, range);
    }
    void find_own_aggregators();
    void make_schedule();
    void agree_on_windows();
    std::uint64_t learn_what_comes(std::uint64_t also);
    [[nodiscard]] std::uint64_t bytes_for(Round const& round, std::size_t aggregator) const;

    Extent touched_;
    bool node_aggregated_ = false;
    bool exact_reads_ = false;
    bool seamless_ = false;
    bool windows_missing_ = false;
    std::vector<Realm> own_nodes_realms_;  // where others' overlap them
    std::optional<RoundSchedule> schedule_;
    std::optional<NodeWindows> windows_;
    ExpectedData expected_;
    std::vector<std::size_t> own_;
    std::size_t first_ = 0;  // window that this rank begins with
    std::size_t sent_ = 0;   // this round
};

}  // namespace unisono
