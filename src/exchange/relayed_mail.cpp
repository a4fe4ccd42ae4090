#include "exchange/relayed_mail.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace unisono {

// A part that is as long as can be has another one behind it, be it empty.
void RelayedMail::send(Letter letter) {
    std::lock_guard const lock{mutex_};
    auto const push = [this](Letter part) {
        ++unsent_;
        outgoing_.push_back(std::move(part));
    };
    std::span<std::byte const> rest = letter.message;
    for (; rest.size() >= part_bytes_; rest = rest.subspan(part_bytes_)) {
        auto const part = rest.first(part_bytes_);
        push({letter.rank, letter.channel, Message(part.begin(), part.end())});
    }
    if (rest.size() < letter.message.size()) letter.message = Message(rest.begin(), rest.end());
    push(std::move(letter));
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
    auto const channel = static_cast<std::size_t>(letter.channel);
    auto const more_to_come = letter.message.size() == part_bytes_;
    if (more_to_come || begun_[channel].contains(letter.rank)) {
        auto& whole = begun_[channel][letter.rank];
        auto const at = whole.size();
        whole.resize(at + letter.message.size());
        std::ranges::copy(letter.message, whole.begin() + static_cast<std::ptrdiff_t>(at));
        if (more_to_come) return;
        letter.message = std::move(whole);
        begun_[channel].erase(letter.rank);
    }
    incoming_[channel].push_back(std::move(letter));
}

}  // namespace unisono
