#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
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
    /// MPI counts the bytes of a message by an int.
    static constexpr std::size_t most_at_once = std::size_t{1} << 30;

    /// Longer letters are carried in parts of `part_bytes`: the same on all ranks.
    explicit RelayedMail(std::size_t part_bytes = most_at_once) : part_bytes_{part_bytes} {}

    struct Letter {
        std::uint32_t rank = 0;  ///< to whom, or from whom
        Channel channel = Channel::data;
        Message message;
    };

    /// From the thread.
    void send(Letter letter);
    /// How many of those that it has sent, or parts of them, have not left yet.
    [[nodiscard]] std::size_t unsent() const;
    /// The first that has come; `from`: from that rank.
    [[nodiscard]] std::optional<Letter> take(Channel channel, std::optional<std::uint32_t> from);

    /// From who carries: the next one to take along, perhaps a part of one.
    [[nodiscard]] std::optional<Letter> collect();
    /// One of those has left; its memory is the carrier's.
    void note_left();
    /// What has been collected elsewhere, in that order.
    void deliver(Letter letter);

private:
    std::size_t part_bytes_;
    mutable std::mutex mutex_;  // guards what follows
    std::deque<Letter> outgoing_;
    std::array<std::deque<Letter>, channels> incoming_;
    std::array<std::map<std::uint32_t, Message>, channels> begun_;  // by rank: parts of one letter
    std::size_t unsent_ = 0;
};

}  // namespace unisono
