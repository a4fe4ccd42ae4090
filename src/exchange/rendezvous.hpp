#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "exchange/team.hpp"

namespace unisono {

/// Meeting point of the ranks of one node, in shared memory: one cache line group per rank.
/// Waiting spins briefly, then yields and drives MPI progress.
///
/// A rank may be one meeting ahead of the slowest at most, hence two payload slots.
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
        ++turn_;
        slots_[index_].arrived.store(turn_, std::memory_order_release);
        wait_for_all();
    }

    /// Merges `mine` over all ranks of the team, in rank order within a node and node order
    /// between nodes; equal on all ranks.
    template <class Payload>
    void meet(Payload& mine) {
        static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= payload_bytes);
        team_.note_meeting();
        ++turn_;
        auto const side = turn_ % 2;
        std::memcpy(slots_[index_].payload[side], &mine, sizeof(Payload));
        slots_[index_].arrived.store(turn_, std::memory_order_release);
        auto const one_node = team_.topology().nodes() == 1;
        if (one_node || index_ == 0) {
            wait_for_all();
            merge_local(mine, side);
        }
        if (one_node) return;
        auto& published = slots_[count_];
        if (index_ == 0) {
            team_.merge_over_leaders(mine);
            std::memcpy(published.payload[side], &mine, sizeof(Payload));
            published.arrived.store(turn_, std::memory_order_release);
        } else {
            wait_for(published);
            std::memcpy(&mine, published.payload[side], sizeof(Payload));
        }
    }

private:
    static constexpr std::size_t payload_bytes = 192;

    struct alignas(64) Slot {
        std::atomic<std::uint64_t> arrived;
        alignas(64) std::byte payload[2][payload_bytes];
    };

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
        constexpr int spins = 64;
        for (int spin = 0; slot.arrived.load(std::memory_order_acquire) < turn_; ++spin)
            if (spin >= spins) team_.idle();
    }

    Team& team_;
    Slot* slots_;
    std::size_t index_;
    std::size_t count_;
    std::uint64_t turn_ = 0;
};

}  // namespace unisono
