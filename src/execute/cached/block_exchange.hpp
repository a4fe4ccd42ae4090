#pragma once

#include <memory>
#include <vector>

#include "exchange/view_directory.hpp"
#include "execute/cached/block_memory.hpp"
#include "execute/request.hpp"
#include "execute/round_exchange.hpp"

namespace unisono {

/// An agreed call through blocks as one rank sees it. What it names must outlive it.
struct BlockCall {
    using Blocks = BlockTable::Blocks;

    Team& team;
    BlockMemory const& memory;
    ViewDirectory const& views;
    Request const& request;
    CallRecord& record;
    std::vector<ViewInterval> intervals{};  ///< by rank, on several nodes
    std::size_t sent = 0;                   ///< messages of this round

    [[nodiscard]] bool is_near(std::size_t aggregator) const {
        return memory.on_my_node(memory.aggregator(aggregator));
    }
    template <class Use>
    void for_each_window(Blocks const& /*round*/, Use&& use) const {
        memory.for_each_aggregator(use);
    }
    /// Calls use(rank, positions, view) for the ranks of other nodes that have bytes in the
    /// aggregator's blocks.
    template <class Use>
    void for_far_ranks(Blocks blocks, std::size_t aggregator, Use&& use) const;

    void send(std::uint32_t to, Team::Kind kind, Message message) {
        ++sent;
        team.send(to, kind, std::move(message));
    }
};

/// The blocks of a round.
using BlockExchange = RoundExchange<BlockTable::Blocks>;

/// Straight between the user's memory and the blocks, one copy.
std::unique_ptr<BlockExchange> make_near_block_exchange(BlockCall& call);

/// All that a rank has for an aggregator in one message, and nothing else: the other end knows its
/// view and its interval, so a read asks for nothing and gets its answer.
std::unique_ptr<BlockExchange> make_far_block_exchange(BlockCall& call);

// What both do, and calls that are not agreed on:

/// This rank's data for an aggregator of its node, to the buffers.
void store(BlockMemory const& memory, BlockTable::Blocks blocks, Request const& request,
           std::size_t aggregator);
/// Those for another one, side by side, from `to` on.
void pack(BlockMemory const& memory, BlockTable::Blocks blocks, Request const& request,
          std::size_t aggregator, std::byte* to);
/// What another rank has packed, to the buffers.
void store_packed(BlockMemory const& memory, BlockTable::Blocks blocks, Tiling const& view,
                  Positions positions, std::size_t aggregator, std::byte const* from);

template <class Use>
void BlockCall::for_far_ranks(Blocks blocks, std::size_t aggregator, Use&& use) const {
    for (std::uint32_t rank = 0; rank < intervals.size(); ++rank) {
        auto const& interval = intervals[rank];
        if (memory.on_my_node(rank) || interval.positions.empty()) continue;
        auto const view = views.tiling(interval);
        if (memory.bytes_in(blocks, view, interval.positions, aggregator) > 0)
            use(rank, interval.positions, view);
    }
}

}  // namespace unisono
