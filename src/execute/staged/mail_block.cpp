#include "execute/staged/mail_block.hpp"

#include "exchange/piece_list.hpp"

namespace unisono {

std::byte* append_block(Message& message, BlockHead const& head, std::uint64_t room_bytes) {
    auto const at = message.size();
    message.resize(at + sizeof head + room_bytes);
    std::memcpy(message.data() + at, &head, sizeof head);
    return message.data() + at + sizeof head;
}

Message describe_own(StagedCall const& call, Round const& round, std::size_t aggregator,
                     std::uint64_t own_bytes) {
    Message block(sizeof(BlockHead));
    {
        PieceList::Writer list{block};
        call.for_own_parts(
            round, aggregator, round.bytes(aggregator),
            [&](Positions part, std::uint64_t shift) { list.add(call.request.view, part, shift); });
    }
    BlockHead const head{.round = static_cast<std::uint32_t>(round.number),
                         .aggregator = static_cast<std::uint32_t>(aggregator),
                         .list_bytes = static_cast<std::uint32_t>(block.size() - sizeof(BlockHead)),
                         .data_bytes = static_cast<std::uint32_t>(own_bytes)};
    std::memcpy(block.data(), &head, sizeof head);
    return block;
}

void pack_own(StagedCall const& call, Round const& round, std::size_t aggregator, std::byte* to) {
    call.for_own_parts(round, aggregator, round.bytes(aggregator),
                       [&](Positions part, std::uint64_t) {
                           copy_data(call.request.in_memory(part), Packed{part.bytes()}.at(to));
                           to += part.bytes();
                       });
}

void unpack_own(StagedCall const& call, Round const& round, std::size_t aggregator,
                std::span<std::byte const> data) {
    call.for_own_parts(
        round, aggregator, round.bytes(aggregator), [&](Positions part, std::uint64_t) {
            part.end = part.begin + std::min<std::uint64_t>(part.bytes(), data.size());
            if (part.empty()) return;
            copy_data(Packed{part.bytes()}.at(data.data()), call.request.in_memory(part));
            data = data.subspan(part.bytes());
        });
}

void unpack_answer(StagedCall const& call, Round const& round, std::size_t aggregator,
                   Message const& answer) {
    for_each_block(answer, /*has_data=*/true,
                   [&](Block const& block) { unpack_own(call, round, aggregator, block.data); });
}

}  // namespace unisono
