#include "execute/staged/node_mail.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>

#include "unisono/extent.hpp"

namespace unisono {

NodeMail::NodeMail(Team& team, std::size_t aggregators, std::uint64_t slice_bytes)
    : aggregators_{aggregators}, slice_bytes_{round_up(slice_bytes, 64)} {
    assert(slice_bytes_ <= std::numeric_limits<std::uint32_t>::max());
    auto const& ranks = team.topology().ranks_near(team.rank());
    local_ranks_ = ranks.size();
    local_index_ =
        static_cast<std::size_t>(std::ranges::lower_bound(ranks, team.rank()) - ranks.begin());
    auto const index_bytes = round_up(aggregators_ * sizeof(Entry), 64);
    memory_ =
        team.node_memory(Team::Area::mail, sides * local_ranks_ * (index_bytes + slice_bytes_));
}

// All indexes, then all slices.
NodeMail::Entry* NodeMail::entries(std::uint64_t round, std::size_t local_rank) const {
    auto const index_bytes = round_up(aggregators_ * sizeof(Entry), 64);
    auto* const at = memory_.data() + part(round, local_rank) * index_bytes;
    return std::launder(reinterpret_cast<Entry*>(at));
}

std::byte* NodeMail::slice(std::uint64_t round, std::size_t local_rank) const {
    auto const indexes_bytes = sides * local_ranks_ * round_up(aggregators_ * sizeof(Entry), 64);
    return memory_.data() + indexes_bytes + part(round, local_rank) * slice_bytes_;
}

void NodeMail::empty_own(std::uint64_t round) {
    std::fill_n(entries(round, local_index_), aggregators_, Entry{});
    used_ = 0;
}

std::span<std::byte> NodeMail::put(std::uint64_t round, std::size_t aggregator,
                                   std::uint64_t block_bytes, std::uint64_t answer_bytes) {
    assert(aggregator < aggregators_);
    auto& entry = entries(round, local_index_)[aggregator];
    assert(entry.block_bytes == 0 && block_bytes > 0);
    if (block_bytes > slice_bytes_ - used_ || answer_bytes > slice_bytes_ - used_ - block_bytes)
        return {};
    entry = {static_cast<std::uint32_t>(used_), static_cast<std::uint32_t>(block_bytes),
             static_cast<std::uint32_t>(answer_bytes)};
    used_ += block_bytes + answer_bytes;
    return {slice(round, local_index_) + entry.at, block_bytes};
}

NodeMail::Block NodeMail::block(std::uint64_t round, std::size_t local_rank,
                                std::size_t aggregator) const {
    auto const& entry = entries(round, local_rank)[aggregator];
    auto* const at = slice(round, local_rank) + entry.at;
    return {{at, entry.block_bytes}, {at + entry.block_bytes, entry.answer_bytes}};
}

void NodeMail::shorten_answer(std::uint64_t round, std::size_t local_rank, std::size_t aggregator,
                              std::uint64_t bytes) {
    auto& entry = entries(round, local_rank)[aggregator];
    assert(bytes <= entry.answer_bytes);
    entry.answer_bytes = static_cast<std::uint32_t>(bytes);
}

}  // namespace unisono
