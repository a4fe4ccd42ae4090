#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exchange/agreement.hpp"
#include "exchange/message.hpp"
#include "unisono/topology.hpp"

namespace unisono {

/// The ranks that do collective calls on a file together, as this rank sees them: who they are,
/// and the few ways in which they talk. Implemented over MPI (interpose/), and over threads for
/// tests. All calls without "local" in their comment are collective over the team.
class Team {
public:
    enum class Kind : std::uint8_t { data, request, turn, view };  ///< of a message; each in order
    enum class Area : std::uint8_t { windows, coverage };          ///< of node memory

    virtual ~Team() = default;

    [[nodiscard]] virtual std::uint32_t rank() const = 0;
    [[nodiscard]] virtual Topology const& topology() const = 0;

    /// Memory shared by the ranks of this node, at least `bytes`, zero when new; stays as it is
    /// until a call asks for more. Collective over the node. Empty on every rank of the node when
    /// there is none to be had.
    virtual std::span<std::byte> node_memory(Area area, std::size_t bytes) = 0;

    /// The same, but the caller's own until it lets go of it; null on every rank of the node when
    /// there is none to be had.
    virtual std::shared_ptr<std::span<std::byte> const> own_node_memory(std::size_t bytes) = 0;

    /// Local: lets MPI make progress and gives up the core. To be called in every wait, because a
    /// peer may need this rank's progress to get here.
    virtual void idle() = 0;

    /// Merges over node leaders in node order; called by leaders only, all of them.
    virtual void merge_over_leaders(Proposal& proposal) = 0;
    virtual void merge_over_leaders(Verdict& verdict) = 0;

    /// Every rank's bytes, equally many, by rank.
    virtual void gather(std::span<std::byte const> mine, std::span<std::byte> all) = 0;
    /// The same for values.
    template <class Value>
    std::vector<Value> gather_values(std::span<Value const> mine) {
        static_assert(std::is_trivially_copyable_v<Value>);
        std::vector<Value> all(mine.size() * topology().ranks());
        gather(std::as_bytes(mine), std::as_writable_bytes(std::span{all}));
        return all;
    }
    /// Elementwise minimum over all ranks.
    virtual void minimum(std::span<std::uint64_t> values) = 0;

    /// Local: starts to send a message; never blocks.
    virtual void send(std::uint32_t to, Kind kind, Message message) = 0;
    /// Local: the next message of that kind from that rank; waits for it.
    virtual Message receive(std::uint32_t from, Kind kind) = 0;
    /// Local: waits until all but the `still_under_way` newest messages have left.
    virtual void finish_sends(std::size_t still_under_way) = 0;
};

}  // namespace unisono
