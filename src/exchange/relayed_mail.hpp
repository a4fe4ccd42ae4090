#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "exchange/team.hpp"

namespace unisono {

/// Messages of a thread that may not send any itself, and of somebody who carries them for it when
/// he comes by: he hands in what others have sent, and takes along what is to be sent. Thread-safe;
/// waits for nobody.
class RelayedMail {
public:
    /// What messages are for; each in order. The first are those of Team.
    enum class Channel : std::uint8_t { data, answer, request, turn, view, gather };
    static constexpr std::size_t channels = 6;

    struct Letter {
        std::uint32_t rank = 0;  ///< to whom, or from whom
        Channel channel = Channel::data;
        Message message;
    };

    /// From the thread.
    void send(Letter letter);
    /// How many of those that it has sent have not left yet.
    [[nodiscard]] std::size_t unsent() const;
    /// The first that has come; `from`: from that rank.
    [[nodiscard]] std::optional<Letter> take(Channel channel, std::optional<std::uint32_t> from);

    /// From who carries: the next one to take along.
    [[nodiscard]] std::optional<Letter> collect();
    /// One of those has left; its memory is the carrier's.
    void note_left();
    void deliver(Letter letter);

private:
    mutable std::mutex mutex_;  // guards what follows
    std::deque<Letter> outgoing_;
    std::array<std::deque<Letter>, channels> incoming_;
    std::size_t unsent_ = 0;
};

}  // namespace unisono
