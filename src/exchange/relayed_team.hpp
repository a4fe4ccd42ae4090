#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/node_team.hpp"
#include "exchange/relayed_mail.hpp"
#include "exchange/rendezvous.hpp"
#include "exchange/team.hpp"

namespace unisono {

/// The ranks of several nodes, for a thread that may not call MPI: a NodeTeam on each node, and
/// between nodes messages that somebody else carries. What all tell each other goes up and down a
/// tree of nodes, as many messages after each other as the number of nodes has bits, twice.
class RelayedTeam final : public Team {
public:
    /// Collective over each node: see NodeTeam. `when_idle`: called in every wait. `mail` outlives
    /// the team.
    RelayedTeam(NodeTeam::Name name_on_node, Topology topology, std::uint32_t rank,
                RelayedMail& mail, std::function<void()> when_idle);

    void hurry_while(std::atomic<int> const& waiting) { node_.hurry_while(waiting); }

    /// Local: waits until all that this rank has sent has left.
    void finish_sends() { finish_sends(0); }
    /// Rank 0's bytes, on every rank. Collective.
    std::vector<std::byte> from_rank_0(std::vector<std::byte> bytes);
    /// Completes the topology with what nodes are called and what they have. Collective.
    void learn_nodes(std::string const& own_name);

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] Topology const& topology() const override { return topology_; }
    [[nodiscard]] Rendezvous& rendezvous() { return *rendezvous_; }
    std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) override {
        return node_.own_node_memory(bytes);
    }
    void idle() override;
    Message receive(std::uint32_t from, Kind kind) override;
    std::optional<Received> receive_any(Kind kind) override;
    void finish_sends(std::size_t still_under_way) override;
    void finish_deposits(Kind) override {}  // there are none

private:
    void merge(Meeting& meeting) override;
    void gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) override;
    void reduce(std::span<std::uint64_t> values, Reduction reduction, Among among) override;
    void start_sending(std::uint32_t to, Kind kind, Message message) override;

    [[nodiscard]] bool near(std::uint32_t rank) const {
        return topology_.node_of[rank] == own_node_;
    }
    [[nodiscard]] bool leads() const { return node_.rank() == 0; }
    [[nodiscard]] std::uint32_t index_on_node(std::uint32_t rank) const;
    Message take(std::uint32_t from, RelayedMail::Channel channel);

    /// What each node's leader brings, by node. Leaders only, all of them.
    std::vector<Message> exchange_between_leaders(Message mine);
    void send_parts(std::size_t to_node, std::span<Message const> parts);
    void receive_parts(std::size_t from_node, std::span<Message> parts);

    Topology topology_;
    std::uint32_t rank_;
    std::uint32_t own_node_;
    RelayedMail& mail_;
    std::function<void()> when_idle_;
    NodeTeam node_;
    std::shared_ptr<std::span<std::byte> const> meeting_point_;
    std::unique_ptr<Rendezvous> rendezvous_;
};

}  // namespace unisono
