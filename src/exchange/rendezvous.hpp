#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "exchange/call_note.hpp"
#include "exchange/meeting.hpp"
#include "exchange/team.hpp"
#include "support/wait_until.hpp"

namespace unisono {

/// Meeting point of the ranks of one node, in shared memory: one cache line group per rank.
/// Waiting spins briefly, then yields and drives MPI progress.
///
/// A rank may be one meeting ahead of the slowest at most, hence two payload slots. Who meets says
/// for which call, and what it brings: ranks that are there for another one, as in a program that
/// calls collective functions in different orders, all get CallsDiffer instead of what others
/// brought for something else.
class Rendezvous {
public:
    static std::size_t bytes_needed(std::size_t local_ranks) {
        return (local_ranks + 1) * sizeof(Slot);  // one more: what the leader publishes
    }

    /// `memory` is zeroed and shared by the node's ranks.
    Rendezvous(Team& team, std::span<std::byte> memory, std::size_t local_index,
               std::size_t local_ranks)
        : team_{team},
          // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): shared memory
          slots_{reinterpret_cast<Slot*>(memory.data())},
          index_{local_index},
          count_{local_ranks} {
        assert(local_index < local_ranks);
        assert(memory.size() >= bytes_needed(local_ranks));
    }

    /// Waits for all local ranks.
    void barrier() {
        team_.note_barrier();
        auto const side = ++turn_ % 2;
        arrive(side, nothing);
        wait_for_all();
        auto const difference = difference_on_node(side);
        if (!difference.any()) return;
        if (index_ == 0) publish(difference, side);  // for those who are at a meeting
        throw CallsDiffer{difference};
    }

    /// Merges `mine` over all ranks of the team, in rank order within a node and node order
    /// between nodes; equal on all ranks.
    template <class Payload>
    void meet(Payload& mine) {
        static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= payload_bytes);
        team_.note_meeting();
        auto const side = ++turn_ % 2;
        std::memcpy(slots_[index_].payload[side], &mine, sizeof(Payload));
        arrive(side, kind_of<Payload>);
        if (team_.topology().nodes() > 1) {
            if (index_ == 0)
                lead(mine, side);
            else
                follow(mine, side);
            return;
        }
        wait_for_all();
        throw_if(difference_on_node(side));
        merge_local(mine, side);
    }

    /// What this rank says of the call that it is in.
    [[nodiscard]] CallNote& note() { return slots_[index_].note; }
    /// What a rank of this node says. Thread-safe.
    [[nodiscard]] CallSeen seen(std::size_t local_index) const {
        constexpr auto any_order = std::memory_order_relaxed;
        auto const& slot = slots_[local_index];
        auto const& note = slot.note;
        auto const accesses = note.accesses.load(any_order);
        return {.tag = note.tag.load(any_order),
                .number = note.number.load(any_order),
                .offset = note.offset.load(any_order),
                .inside = note.inside.load(any_order),
                .accesses = static_cast<std::uint32_t>(accesses) != 0,
                .progress = slot.arrived.load(any_order) + note.messages.load(any_order) +
                            (accesses >> 32)};
    }
    [[nodiscard]] std::size_t local_index() const { return index_; }
    [[nodiscard]] std::size_t local_ranks() const { return count_; }

private:
    static constexpr std::size_t payload_bytes = 192;
    static constexpr std::uint8_t nothing = 0;  // to a barrier
    template <class Payload>
    static constexpr auto kind_of = static_cast<std::uint8_t>(
        1 + decltype(Meeting::payload){std::in_place_type<Payload>}.index());

    struct alignas(64) Slot {
        std::atomic<std::uint64_t> arrived;
        CallTag call[2];  // what for; beside what others look at anyway
        std::uint8_t brings[2];
        bool differ[2];  // only of what the leader publishes: its payload is a Difference
        alignas(64) std::byte payload[2][payload_bytes];
        CallNote note;
    };

    void arrive(std::size_t side, std::uint8_t brings) {
        auto& own = slots_[index_];
        own.brings[side] = brings;
        own.call[side] = own.note.tag.load(std::memory_order_relaxed);
        own.arrived.store(turn_, std::memory_order_release);
    }

    // The first rank of this node that is there for another call than the first one, or for
    // something else in it.
    [[nodiscard]] Difference difference_on_node(std::size_t side) const {
        auto const& first = slots_[0];
        for (std::size_t i = 1; i < count_; ++i) {
            auto const& other = slots_[i];
            if (other.call[side].goes_with(first.call[side]) &&
                other.brings[side] == first.brings[side])
                continue;
            auto const& ranks = team_.topology().ranks_near(team_.rank());
            return {ranks[0], ranks[i], first.call[side], other.call[side]};
        }
        return {};
    }

    static void throw_if(Difference const& difference) {
        if (difference.any()) throw CallsDiffer{difference};
    }

    template <class Payload>
    void lead(Payload& mine, std::size_t side) {
        wait_for_all();
        auto const on_node = difference_on_node(side);
        if (!on_node.any()) merge_local(mine, side);
        Meeting meeting{team_.rank(), slots_[0].call[side], on_node, mine};
        team_.merge_over_leaders(meeting);
        if (meeting.difference.any()) {
            publish(meeting.difference, side);
            throw CallsDiffer{meeting.difference};
        }
        mine = std::get<Payload>(meeting.payload);
        publish(mine, side);
    }

    template <class Published>
    void publish(Published const& content, std::size_t side) {
        auto& published = slots_[count_];
        published.differ[side] = std::is_same_v<Published, Difference>;
        std::memcpy(published.payload[side], &content, sizeof content);
        published.arrived.store(turn_, std::memory_order_release);
    }

    template <class Payload>
    void follow(Payload& mine, std::size_t side) {
        auto& published = slots_[count_];
        wait_for(published);
        if (published.differ[side]) {
            Difference difference;
            std::memcpy(&difference, published.payload[side], sizeof difference);
            throw CallsDiffer{difference};
        }
        std::memcpy(&mine, published.payload[side], sizeof(Payload));
    }

    template <class Payload>
    void merge_local(Payload& mine, std::size_t side) {
        Payload merged;
        std::memcpy(static_cast<void*>(&merged), slots_[0].payload[side], sizeof(Payload));
        for (std::size_t i = 1; i < count_; ++i) {
            Payload next;
            std::memcpy(static_cast<void*>(&next), slots_[i].payload[side], sizeof(Payload));
            merged.merge(next);
        }
        mine = merged;
    }

    void wait_for_all() {
        for (std::size_t i = 0; i < count_; ++i) wait_for(slots_[i]);
    }

    void wait_for(Slot& slot) {
        wait_until([&] { return slot.arrived.load(std::memory_order_acquire) >= turn_; },
                   [&] { team_.idle(); }, team_.topology().nodes() == 1);
    }

    Team& team_;
    Slot* slots_;
    std::size_t index_;
    std::size_t count_;
    std::uint64_t turn_ = 0;
};

}  // namespace unisono
