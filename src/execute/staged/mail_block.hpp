#pragma once

#include <cstring>
#include <span>

#include "exchange/message.hpp"
#include "execute/staged/staged_call.hpp"

namespace unisono {

/// What a block is about: some ranks' bytes in one window. A list of the pieces and the packed data
/// follow where there are such; a message is one or more blocks.
struct BlockHead {
    std::uint32_t round = 0;  ///< senders are few ahead: these bits tell it from others
    std::uint32_t aggregator = 0;
    std::uint32_t list_bytes = 0;
    std::uint32_t data_bytes = 0;  ///< that follow, or are asked for
    std::uint32_t ranks = 1;       ///< of one node that ask for the very same
};

/// A block in a message; both parts may be empty.
struct Block {
    BlockHead head;
    std::span<std::byte const> list;
    std::span<std::byte const> data;
};

inline BlockHead head_of(std::span<std::byte const> block) {
    BlockHead head;
    std::memcpy(&head, block.data(), sizeof head);
    return head;
}

/// Calls use(block) for those of a message. `has_data`: not of requests.
template <class Use>
void for_each_block(std::span<std::byte const> message, bool has_data, Use&& use) {
    while (!message.empty()) {
        auto const head = head_of(message);
        auto const data_at = sizeof head + head.list_bytes;
        auto const end = data_at + (has_data ? head.data_bytes : 0);
        use(Block{head, message.subspan(sizeof head, head.list_bytes),
                  message.subspan(data_at, end - data_at)});
        message = message.subspan(end);
    }
}

/// Appends a head and room for so many bytes; returns where these are. Invalidates earlier ones.
std::byte* append_block(Message& message, BlockHead const& head, std::uint64_t room_bytes);

/// Head and list about what a rank has in a window, `own_bytes` of it.
Message describe_own(StagedCall const& call, Round const& round, std::size_t aggregator,
                     std::uint64_t own_bytes);
/// This rank's bytes in a window, packed.
void pack_own(StagedCall const& call, Round const& round, std::size_t aggregator, std::byte* to);
/// The same the other way. As many as there are: the first ones, where the file ends within.
void unpack_own(StagedCall const& call, Round const& round, std::size_t aggregator,
                std::span<std::byte const> data);
/// The same of a message with such data.
void unpack_answer(StagedCall const& call, Round const& round, std::size_t aggregator,
                   Message const& answer);

}  // namespace unisono
