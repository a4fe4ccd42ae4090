#include "execute/cached/deposit_mail.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>

#include "execute/cached/block_exchange.hpp"

namespace unisono {

/// What a message begins with; packed data follow.
struct DepositMail::Head {
    std::uint32_t aggregator = 0;
    bool closing = false;  ///< the last message of a window, without data
    ViewInterval interval;
};

void DepositMail::open(std::uint64_t window_bytes) {
    team_.expect_messages(window_bytes, /*read_over_fast_links=*/false);
    closings_missing_.assign(team_.topology().ranks(), 0);
    memory_.for_own_aggregators([&](std::size_t) {
        for (std::uint32_t rank = 0; rank < closings_missing_.size(); ++rank)
            closings_missing_[rank] += memory_.on_my_node(rank) ? 0 : 1;
    });
}

void DepositMail::send(std::size_t aggregator, BlockTable::Blocks blocks, Request const& request) {
    auto const bytes = memory_.bytes_in(blocks, request.view, request.positions, aggregator);
    if (bytes == 0) return;
    Message message(sizeof(Head) + bytes);
    pack(memory_, blocks, request, aggregator, message.data() + sizeof(Head));
    send_with({.aggregator = static_cast<std::uint32_t>(aggregator),
               .interval = views_.interval_of(request.view, request.positions)},
              std::move(message));
}

void DepositMail::send_with(Head const& head, Message message) {
    std::memcpy(message.data(), &head, sizeof head);
    team_.send(memory_.aggregator(head.aggregator), kind_, std::move(message));
}

void DepositMail::take() {
    if (closings_missing_.empty()) return;
    while (auto const received = team_.receive_any(kind_)) store(received->from, received->message);
}

bool DepositMail::more_may_come() const {
    return std::ranges::any_of(closings_missing_, std::identity{});
}

void DepositMail::store(std::uint32_t from, Message const& message) {
    Head head;
    std::memcpy(static_cast<void*>(&head), message.data(), sizeof head);
    if (head.closing) {
        assert(closings_missing_[from] > 0);
        --closings_missing_[from];
        return;
    }
    auto const view = views_.tiling(head.interval);
    auto const range = touched(view, head.interval.positions);
    store_packed(memory_, memory_.blocks_of(range), view, head.interval.positions, head.aggregator,
                 message.data() + sizeof head);
}

void DepositMail::close() {
    for (std::size_t i = 0; i < memory_.aggregators().size(); ++i) {
        if (memory_.on_my_node(memory_.aggregator(i))) continue;
        send_with({.aggregator = static_cast<std::uint32_t>(i), .closing = true},
                  Message(sizeof(Head)));
    }
}

}  // namespace unisono
