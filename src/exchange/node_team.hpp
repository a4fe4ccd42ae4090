#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exchange/descriptor_socket.hpp"
#include "exchange/node_memory.hpp"
#include "exchange/rendezvous.hpp"
#include "exchange/team.hpp"

namespace unisono {

/// The ranks of one node, by shared memory and sockets alone: for a thread that may not call MPI
/// while its program computes. Several of them may be at work at once, in threads of their own.
///
/// Carries no messages but empty ones of Kind::turn: with memory for its windows a node needs none
/// else.
class NodeTeam final : public Team {
public:
    /// By what the ranks of one team find each other, and nobody else does: a secret of the ranks,
    /// and a number that no other team has with it.
    using Name = DescriptorSocket::Address;

    /// Collective: waits for the node's other ranks. `topology`: of one node. Throws bad_alloc
    /// where there is no memory; then the others wait in vain. Cost: a descriptor to each rank, and
    /// for each rank 3 KiB and a byte for each other one.
    NodeTeam(Name name, Topology topology, std::uint32_t rank);

    /// Local: while this is not 0, somebody waits for the team: idle ranks give up the core, and
    /// do not sleep.
    void hurry_while(std::atomic<int> const& waiting) { waiting_ = &waiting; }

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] Topology const& topology() const override { return topology_; }
    [[nodiscard]] Rendezvous& rendezvous() { return *rendezvous_; }
    std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) override;
    [[nodiscard]] bool carries_messages() const override { return false; }
    void idle() override;
    Message receive(std::uint32_t from, Kind kind) override;
    std::optional<Received> receive_any(Kind) override { return {}; }
    void finish_sends(std::size_t) override {}
    void finish_deposits(Kind) override {}

    /// Rank 0's bytes, on every rank. Collective: a gather, and two meetings for every 2 KiB.
    std::vector<std::byte> from_rank_0(std::vector<std::byte> bytes);

private:
    /// What a rank shows to the others.
    struct alignas(64) Place {
        static constexpr std::size_t board_bytes = 2048 - 64;
        std::atomic<std::uint64_t> arrived;
        alignas(64) std::byte board[board_bytes];
    };

    void merge(Meeting&) override {}  // over the only leader
    void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) override;
    void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) override;
    void start_sending(std::uint32_t to, Kind kind, Message message) override;

    [[nodiscard]] std::size_t ranks() const { return topology_.ranks(); }
    [[nodiscard]] std::size_t control_bytes() const;
    [[nodiscard]] Name name_of(std::uint32_t rank) const;
    /// Hands the first rank's segment to all. Empty where one could not open it.
    [[nodiscard]] SharedSegment share(SharedSegment segment, std::size_t bytes);
    [[nodiscard]] NodeMemory allocate(std::size_t bytes);
    [[nodiscard]] NodeMemory allocate_control();
    void meet();
    [[nodiscard]] bool all(bool mine);
    [[nodiscard]] std::atomic<std::uint8_t>& turn(std::uint32_t from, std::uint32_t to) const {
        return turns_[from * ranks() + to];
    }

    Name name_;
    Topology topology_;
    std::uint32_t rank_;
    std::uint64_t shares_ = 0;  // segments that were handed round
    NodeMemory control_;
    std::unique_ptr<Rendezvous> rendezvous_;
    Place* places_ = nullptr;  // by rank
    std::uint64_t meetings_ = 0;
    std::atomic<std::uint8_t>* turns_ = nullptr;  // sent so far, by sender and receiver
    std::vector<std::uint8_t> turns_taken_;       // by sender
    std::atomic<int> const* waiting_ = nullptr;
};

}  // namespace unisono
