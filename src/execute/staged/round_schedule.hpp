#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "unisono/realm.hpp"

namespace unisono {

/// One round: which part of its realm each aggregator has in its collective buffer.
///
/// A window is made of intervals of *realm positions*: the bytes of one server's stripes lie in it
/// side by side, in the order of that server's object, whatever lies between them in the file.
struct Round {
    /// A part of a window that is contiguous in the file.
    struct Part {
        Extent file;
        std::uint64_t at = 0;  ///< of its first byte, in the window
    };

    std::uint64_t number = 0;              ///< from 0
    bool last = true;                      ///< of the call
    std::vector<std::vector<Part>> parts;  ///< by aggregator, ascending

    /// Which of the two buffers that take turns has it.
    [[nodiscard]] int side() const { return static_cast<int>(number % 2); }
    [[nodiscard]] bool empty(std::size_t aggregator) const { return parts[aggregator].empty(); }
    [[nodiscard]] std::uint64_t bytes(std::size_t aggregator) const {
        return empty(aggregator)
                   ? 0
                   : parts[aggregator].back().at + parts[aggregator].back().file.bytes();
    }
    /// Whether the window has bytes in `range`. O(log parts).
    [[nodiscard]] bool meets(std::size_t aggregator, Extent range) const;
};

/// Cuts realms into windows, round by round. Pure: equal arguments give equal rounds on every rank.
class RoundSchedule {
public:
    /// With which of its windows an aggregator begins: with the first one, or each with another
    /// one, after the last of which come the first ones. Where blocks are dealt in turn to ranks,
    /// and a window is shorter than a turn, the first windows of all aggregators are the same few
    /// ranks', the next ones those of some others: the other links would be idle meanwhile.
    enum class Begin : std::uint8_t { together, staggered };

    /// @param realms        must outlive this; ones that this rank has nothing to do with may be
    ///                      empty
    /// @param window_bytes  at most so many bytes a window; at least 1
    /// @param wanted        ascending, disjoint file bytes outside of which nobody asks for any: a
    ///                      window is packed with these, and with nothing else
    /// Cost: O(realms x (wanted + 1)), each O(depth).
    RoundSchedule(std::span<Realm const> realms, std::uint64_t window_bytes,
                  std::span<Extent const> wanted, Begin begin = Begin::together);

    /// Bytes of the largest window that any round has; at least 1.
    [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }
    [[nodiscard]] std::uint64_t rounds() const { return rounds_; }
    [[nodiscard]] std::size_t aggregators() const { return realms_.size(); }
    /// OR of all offsets and window positions at which something may be cut.
    [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
    /// Of all windows of all rounds.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    /// The next round; the first has number 0. Only while there are any. Cost: O(parts).
    Round next();
    [[nodiscard]] bool any_left() const { return next_round_ < rounds_; }
    [[nodiscard]] std::uint64_t rounds_taken() const { return next_round_; }

private:
    /// What is left of a realm: intervals of its positions from the first one's `begin` on. No
    /// window has bytes on both sides of the seam.
    struct Rest {
        std::vector<Positions> intervals;
        std::size_t first = 0;
        std::size_t seam = 0;
    };
    [[nodiscard]] Rest rest_of(Realm const& realm, std::span<Extent const> wanted);
    void begin_later(Rest& rest, std::uint64_t windows) const;
    std::vector<Round::Part> next_window(std::size_t aggregator);

    std::span<Realm const> realms_;
    std::vector<Rest> rests_;
    std::uint64_t window_bytes_ = 1;
    std::uint64_t rounds_ = 0;
    std::uint64_t next_round_ = 0;
    std::uint64_t alignment_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace unisono
