#include "execute/cached/block_memory.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace unisono {

bool BlockMemory::suits(Plan const& plan) const {
    return plan.block_bytes == block_bytes_ &&
           std::max<std::uint64_t>(1, plan.pool_bytes / plan.block_bytes) == slots_ &&
           plan.aggregators == aggregators_;
}

void BlockMemory::reset(Plan const& plan) {
    auto const nodes = team_.topology().nodes();
    aggregators_ = plan.aggregators;
    from_mine_on_.resize(aggregators_.size());
    std::iota(from_mine_on_.begin(), from_mine_on_.end(), 0);
    auto const ranks = team_.topology().ranks();
    std::ranges::stable_sort(from_mine_on_, {}, [&](std::size_t i) {
        return (aggregators_[i] + ranks - team_.rank()) % ranks;
    });
    block_bytes_ = std::max<std::uint64_t>(1, plan.block_bytes);
    slots_ = std::max<std::uint64_t>(1, plan.pool_bytes / block_bytes_);
    table_ = {std::max<std::size_t>(1, aggregators_.size()), static_cast<std::size_t>(slots_)};
    memory_of_.assign(aggregators_.size(), {});
    used_.assign(nodes, 0);
    made_.assign(nodes, 0);
    segments_.clear();
}

// By node, for blocks that are placed next.
std::vector<std::size_t> BlockMemory::places_needed(Blocks blocks) const {
    auto needed = used_;
    for (std::size_t i = 0; i < aggregators_.size(); ++i) {
        auto const after = table_.slots_after(i, blocks);
        needed[team_.topology().node_of[aggregators_[i]]] +=
            after - std::min(after, memory_of_[i].size());
    }
    return needed;
}

std::vector<std::size_t> BlockMemory::places_at_most() const {
    std::vector<std::size_t> most(used_.size());
    for (auto const rank : aggregators_) most[team_.topology().node_of[rank]] += slots_;
    return most;
}

std::optional<BlockMemory::Growth> BlockMemory::get(Blocks blocks) {
    auto const needed = places_needed(blocks);
    auto const most = places_at_most();
    Growth growth;
    growth.made_ = made_;
    std::uint64_t ended_well = 1;
    for (std::size_t node = 0; node < needed.size(); ++node) {
        if (needed[node] <= made_[node]) continue;
        growth.made_[node] = std::min(std::max(needed[node], 2 * made_[node]), most[node]);
        if (node != team_.topology().node_of[team_.rank()]) continue;
        auto const places = growth.made_[node] - made_[node];
        auto const progress = segments_.empty() ? team_.topology().ranks() * sizeof(Progress) : 0;
        auto memory = team_.own_node_memory(places * stride() + progress);
        ended_well = memory == nullptr ? 0 : 1;
        growth.segment_ = {made_[node], std::move(memory)};
    }
    if (growth.made_ != made_ && needed.size() > 1) team_.minimum({&ended_well, 1});
    if (ended_well == 0) return std::nullopt;
    return growth;
}

void BlockMemory::add(Growth growth, Blocks blocks) {
    made_ = std::move(growth.made_);
    if (growth.segment_) segments_.push_back(*std::move(growth.segment_));
    for (std::size_t i = 0; i < aggregators_.size(); ++i)
        while (memory_of_[i].size() < table_.slots_after(i, blocks))
            memory_of_[i].push_back(used_[team_.topology().node_of[aggregators_[i]]]++);
}

BlockBuffer BlockMemory::buffer(BlockTable::Entry const& entry) const {
    auto const place = memory_of_[table_.owner(entry.block)][entry.slot];
    auto const segment = std::prev(std::ranges::upper_bound(segments_, place, {}, &Segment::first));
    return {segment->memory->data() + (place - segment->first) * stride(), block_bytes_};
}

std::atomic<std::uint64_t>& BlockMemory::progress_of(std::uint32_t rank) const {
    auto const& first = *segments_.front().memory;
    auto* const after = first.data() + first.size() - team_.topology().ranks() * sizeof(Progress);
    return reinterpret_cast<Progress*>(after)[rank].block;
}

BlockBuffer BlockMemory::buffer(std::uint64_t block) const {
    auto const slot = table_.slot_of(block);
    assert(slot);
    return buffer(BlockTable::Entry{block, *slot});
}

std::unique_lock<BlockBuffer const> BlockMemory::locked(BlockBuffer const& buffer) const {
    std::unique_lock lock{buffer, std::try_to_lock};
    while (!lock && !lock.try_lock()) team_.give_way();
    return lock;
}

std::uint64_t BlockMemory::bytes_in(Blocks blocks, Tiling const& view, Positions positions,
                                    std::size_t aggregator) const {
    std::uint64_t bytes = 0;
    for_parts(blocks, view, positions, aggregator,
              [&](std::uint64_t, Positions part) { bytes += part.bytes(); });
    return bytes;
}

}  // namespace unisono
