#pragma once

#include <cstdint>
#include <vector>

#include "exchange/view_directory.hpp"
#include "execute/cached/block_memory.hpp"
#include "execute/request.hpp"

namespace unisono {

/// Deposits between nodes: data on their way to the aggregators of blocks, who know the views.
/// Local, but for the messages.
class DepositMail {
public:
    /// All must outlive this. `number`: the file's, equal on all ranks.
    DepositMail(Team& team, BlockMemory const& memory, ViewDirectory& views, std::uint32_t number)
        : team_{team}, memory_{memory}, views_{views}, kind_{Team::deposits_of(number)} {}

    /// A window opens, in which so many bytes of the file may be written.
    void open(std::uint64_t window_bytes);
    /// Sends what the request has for the blocks of an aggregator of another node.
    void send(std::size_t aggregator, BlockTable::Blocks blocks, Request const& request);
    /// Stores what has come so far for this rank's blocks.
    void take();
    /// Some rank of another node has not closed the window yet. Cost: O(ranks).
    [[nodiscard]] bool more_may_come() const;
    /// Tells the aggregators of other nodes that nothing more will come of this rank.
    void close();
    /// Nothing is on its way, on all ranks: forgets whom messages went to.
    void finish() { team_.finish_deposits(kind_); }

private:
    struct Head;

    void send_with(Head const& head, Message message);
    void store(std::uint32_t from, Message const& message);

    Team& team_;
    BlockMemory const& memory_;
    ViewDirectory& views_;
    Team::Kind kind_;
    std::vector<std::size_t> closings_missing_;  // by rank of another node
};

}  // namespace unisono
