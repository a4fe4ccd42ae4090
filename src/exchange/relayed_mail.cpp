#include "exchange/relayed_mail.hpp"

#include <algorithm>
#include <utility>

namespace unisono {

void RelayedMail::send(Letter letter) {
    std::lock_guard const lock{mutex_};
    ++unsent_;
    outgoing_.push_back(std::move(letter));
}

std::size_t RelayedMail::unsent() const {
    std::lock_guard const lock{mutex_};
    return unsent_;
}

std::optional<RelayedMail::Letter> RelayedMail::take(Channel channel,
                                                     std::optional<std::uint32_t> from) {
    std::lock_guard const lock{mutex_};
    auto& letters = incoming_[static_cast<std::size_t>(channel)];
    auto const found = std::ranges::find_if(
        letters, [&](auto const& letter) { return !from || letter.rank == *from; });
    if (found == letters.end()) return {};
    auto letter = std::move(*found);
    letters.erase(found);
    return letter;
}

std::optional<RelayedMail::Letter> RelayedMail::collect() {
    std::lock_guard const lock{mutex_};
    if (outgoing_.empty()) return {};
    auto letter = std::move(outgoing_.front());
    outgoing_.pop_front();
    return letter;
}

void RelayedMail::note_left() {
    std::lock_guard const lock{mutex_};
    --unsent_;
}

void RelayedMail::deliver(Letter letter) {
    std::lock_guard const lock{mutex_};
    incoming_[static_cast<std::size_t>(letter.channel)].push_back(std::move(letter));
}

}  // namespace unisono
