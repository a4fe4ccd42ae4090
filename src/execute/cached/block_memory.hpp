#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exchange/team.hpp"
#include "execute/cached/block_cache.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Whose the blocks of one open file are, and in which buffer each of them is: node memory, made
/// as it is needed, at least doubled each time, and kept until another plan comes.
///
/// Equal on all ranks but for the buffers themselves, of which a rank sees its own node's.
class BlockMemory {
public:
    using Blocks = BlockTable::Blocks;

    /// `team` must outlive this.
    explicit BlockMemory(Team& team) : team_{team} {}

    /// Made for the plan's blocks, pool and aggregators.
    [[nodiscard]] bool suits(Plan const& plan) const;
    /// Forgets everything. A plan without aggregators stands for no blocks at all.
    void reset(Plan const& plan);

    /// Memory that is still to be added; of this node.
    class Growth;
    /// Gets memory for the buffers that these blocks need; nobody sees it yet. Collective over the
    /// team where any is missing; nothing on all ranks when some node has none left, and then what
    /// there is must be reset.
    std::optional<Growth> get(Blocks blocks);
    /// Puts it in use, for the same blocks. Local.
    void add(Growth growth, Blocks blocks);

    /// Finds room for blocks, as BlockTable::place.
    std::vector<BlockTable::Entry> place(Blocks blocks) { return table_.place(blocks); }
    std::vector<BlockTable::Entry> release(Blocks blocks) { return table_.release(blocks); }
    void clear() { table_.clear(); }
    /// So many blocks fit at once.
    [[nodiscard]] std::uint64_t room() const { return table_.room(); }

    [[nodiscard]] std::span<std::uint32_t const> aggregators() const { return aggregators_; }
    [[nodiscard]] std::uint32_t aggregator(std::size_t number) const {
        return aggregators_[number];
    }
    [[nodiscard]] bool is_mine(std::uint64_t block) const {
        return aggregators_[table_.owner(block)] == team_.rank();
    }
    [[nodiscard]] bool on_my_node(std::uint32_t rank) const {
        auto const& node_of = team_.topology().node_of;
        return node_of[rank] == node_of[team_.rank()];
    }

    [[nodiscard]] std::uint64_t begin_of(std::uint64_t block) const { return block * block_bytes_; }
    [[nodiscard]] std::uint64_t block_at(std::uint64_t offset) const {
        return offset / block_bytes_;
    }
    [[nodiscard]] Extent extent_of(std::uint64_t block) const {
        return {begin_of(block), begin_of(block + 1)};
    }
    [[nodiscard]] BufferRange within_block(Extent range, std::uint64_t block) const {
        return {range.begin - begin_of(block), range.end - begin_of(block)};
    }
    [[nodiscard]] Blocks blocks_of(Extent range) const {
        auto const first = block_at(range.begin);
        return {first, std::max(first, div_ceil(range.end, block_bytes_))};
    }

    /// Of a block that has been placed, on this node.
    [[nodiscard]] BlockBuffer buffer(std::uint64_t block) const;
    /// Waits until it is this rank's alone.
    [[nodiscard]] std::unique_lock<BlockBuffer const> locked(BlockBuffer const& buffer) const;
    /// Of what was in a slot of the block's owner.
    [[nodiscard]] BlockBuffer buffer(BlockTable::Entry const& entry) const;
    /// What makes file offsets addresses in the block's buffer.
    [[nodiscard]] std::uintptr_t base_of(BlockBuffer const& buffer, std::uint64_t block) const {
        return reinterpret_cast<std::uintptr_t>(buffer.data()) - begin_of(block);
    }

    /// Calls use(block, range) for the parts of a range that are in a buffer.
    template <class Use>
    void for_blocks(Extent range, Use&& use) const;
    /// Calls use(block, buffer) for all blocks of this rank that are in one, ascending for each of
    /// its aggregators.
    template <class Use>
    void for_own_buffers(Use&& use) const;
    /// The same for those of `blocks`, which have been placed.
    template <class Use>
    void for_own_buffers(Blocks blocks, Use&& use) const;
    template <class Use>
    void for_own_aggregators(Use&& use) const;
    /// How far a rank of this node has got, in blocks; zero at first, from the first get() on.
    [[nodiscard]] std::atomic<std::uint64_t>& progress_of(std::uint32_t rank) const;
    /// This rank's own blocks first, then the others' in turn: not all at one rank at once. A
    /// rank's aggregators ascend, as in for_own_aggregators().
    template <class Use>
    void for_each_aggregator(Use&& use) const;
    /// Calls use(block, positions) for what these positions of a view have in each of the
    /// aggregator's blocks among `blocks`, ascending.
    template <class Use>
    void for_parts(Blocks blocks, Tiling const& view, Positions positions, std::size_t aggregator,
                   Use&& use) const;
    [[nodiscard]] std::uint64_t bytes_in(Blocks blocks, Tiling const& view, Positions positions,
                                         std::size_t aggregator) const;

private:
    struct Segment {
        std::size_t first = 0;
        std::shared_ptr<std::span<std::byte> const> memory;
    };

    struct alignas(64) Progress {
        std::atomic<std::uint64_t> block;
    };

    // From one buffer to the next.
    [[nodiscard]] std::size_t stride() const { return BlockBuffer::bytes_needed(block_bytes_); }
    [[nodiscard]] std::vector<std::size_t> places_needed(Blocks blocks) const;
    [[nodiscard]] std::vector<std::size_t> places_at_most() const;

    Team& team_;
    std::vector<std::uint32_t> aggregators_;
    std::vector<std::size_t> from_mine_on_;  // these, by rank
    std::uint64_t block_bytes_ = 1;
    std::uint64_t slots_ = 1;  // of an aggregator, at most
    BlockTable table_{1, 1};
    std::vector<std::vector<std::size_t>> memory_of_;  // aggregator, slot -> place in its node
    std::vector<std::size_t> used_;                    // by node: places taken
    std::vector<std::size_t> made_;                    // by node: places that there are
    std::vector<Segment> segments_;                    // of this node, ascending
};

class BlockMemory::Growth {
    friend class BlockMemory;
    std::vector<std::size_t> made_;  // by node, with it
    std::optional<Segment> segment_;
};

template <class Use>
void BlockMemory::for_blocks(Extent range, Use&& use) const {
    while (range.begin < range.end) {
        auto const block = block_at(range.begin);
        auto const part = intersect(range, extent_of(block));
        if (table_.slot_of(block)) use(block, part);
        range.begin = part.end;
    }
}

template <class Use>
void BlockMemory::for_own_aggregators(Use&& use) const {
    for (std::size_t i = 0; i < aggregators_.size(); ++i)
        if (aggregators_[i] == team_.rank()) use(i);
}

template <class Use>
void BlockMemory::for_own_buffers(Use&& use) const {
    for_own_aggregators([&](std::size_t i) {
        for (auto const& entry : table_.entries(i)) use(entry.block, buffer(entry));
    });
}

template <class Use>
void BlockMemory::for_own_buffers(Blocks blocks, Use&& use) const {
    for (auto block = blocks.first; block < blocks.last; ++block)
        if (is_mine(block)) use(block, buffer(block));
}

template <class Use>
void BlockMemory::for_each_aggregator(Use&& use) const {
    for (auto const aggregator : from_mine_on_) use(aggregator);
}

template <class Use>
void BlockMemory::for_parts(Blocks blocks, Tiling const& view, Positions positions,
                            std::size_t aggregator, Use&& use) const {
    if (positions.empty()) return;
    auto const range = touched(view, positions);
    auto const count = aggregators_.size();
    auto block = std::max(blocks.first, block_at(range.begin));
    block += (aggregator + count - table_.owner(block)) % count;
    for (; block < blocks.last && begin_of(block) < range.end; block += count) {
        auto const part = within(view, positions, extent_of(block));
        if (!part.empty()) use(block, part);
    }
}

}  // namespace unisono
