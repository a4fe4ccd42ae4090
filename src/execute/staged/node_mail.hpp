#pragma once

#include <cstdint>
#include <span>

#include "exchange/team.hpp"

namespace unisono {

/// Memory in which a node's ranks put what they have to say to aggregators of other nodes, so that
/// one of them sends it for all: blocks of bytes, and room for the answers. Each rank has a slice
/// of its own, and an index of which block in it is for which aggregator; three of both, which take
/// turns: a round's are put while answers to the last two are still to come. There is no more of it
/// than a node's data, whatever windows there are.
///
/// Who wants to look at others' has to meet them first.
class NodeMail {
public:
    static constexpr std::size_t sides = 3;

    /// Of a rank, for one aggregator.
    struct Block {
        std::span<std::byte const> bytes;
        std::span<std::byte> answer;
    };

    /// Collective over the node.
    NodeMail(Team& team, std::size_t aggregators, std::uint64_t slice_bytes);

    /// There is such memory. If not, nothing below may be called.
    [[nodiscard]] bool there() const { return !memory_.empty(); }
    [[nodiscard]] std::size_t local_ranks() const { return local_ranks_; }
    [[nodiscard]] std::size_t local_index() const { return local_index_; }

    /// This rank begins anew. To be called before it puts the first block of a round.
    void empty_own(std::uint64_t round);
    /// Room in this rank's slice for a block, and for its answer; empty where there is not as much.
    /// One for an aggregator.
    std::span<std::byte> put(std::uint64_t round, std::size_t aggregator, std::uint64_t block_bytes,
                             std::uint64_t answer_bytes);

    /// What a rank has put; both spans are empty if it has not.
    [[nodiscard]] Block block(std::uint64_t round, std::size_t local_rank,
                              std::size_t aggregator) const;
    /// So much of the answer has come; before that, all of it has.
    void shorten_answer(std::uint64_t round, std::size_t local_rank, std::size_t aggregator,
                        std::uint64_t bytes);

private:
    struct Entry {
        std::uint32_t at;  // in the slice
        std::uint32_t block_bytes;
        std::uint32_t answer_bytes;
    };

    [[nodiscard]] Entry* entries(std::uint64_t round, std::size_t local_rank) const;
    [[nodiscard]] std::byte* slice(std::uint64_t round, std::size_t local_rank) const;
    [[nodiscard]] std::size_t part(std::uint64_t round, std::size_t local_rank) const {
        return round % sides * local_ranks_ + local_rank;
    }

    std::size_t aggregators_;
    std::uint64_t slice_bytes_;
    std::size_t local_ranks_ = 0;
    std::size_t local_index_ = 0;
    std::span<std::byte> memory_;
    std::uint64_t used_ = 0;  // of this rank's slice, this round
};

}  // namespace unisono
