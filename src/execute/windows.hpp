#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "unisono/realm.hpp"

namespace unisono {

/// Which part of its realm each aggregator has in its collective buffer, round by round.
///
/// A window is an interval of *realm positions*: the bytes of one server's stripes lie in it side
/// by side, in the order of that server's object, whatever lies between them in the file.
class Windows {
public:
    /// A part of a window that is contiguous in the file.
    struct Part {
        Extent file;
        std::uint64_t at = 0;  ///< of its first byte, in the window
    };

    /// `realms` must outlive this.
    Windows(std::span<Realm const> realms, std::uint64_t window_bytes);

    [[nodiscard]] std::size_t count() const { return realms_.size(); }
    /// Bytes of the largest window that any round can have; at least 1.
    [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }
    /// How many rounds there are when none is skipped.
    [[nodiscard]] std::uint64_t rounds() const { return rounds_; }
    /// OR of all offsets and window positions at which something may be cut.
    [[nodiscard]] std::uint64_t alignment() const { return alignment_; }

    /// Where each realm's next window would begin, as file offsets; `nowhere` behind its end.
    [[nodiscard]] std::vector<std::uint64_t> next_offsets() const;
    /// Moves each realm's next window to the realm's first byte at or behind the offset.
    void skip_to(std::span<std::uint64_t const> offsets);
    /// The parts of the window that an aggregator has in the next round when nothing is skipped.
    [[nodiscard]] std::vector<Part> next_parts(std::size_t aggregator) const;
    /// Makes the next round's windows; false when nothing is left.
    bool advance();

    /// This round's window of an aggregator: its parts, ascending.
    [[nodiscard]] std::span<Part const> parts(std::size_t aggregator) const {
        return parts_[aggregator];
    }
    [[nodiscard]] std::uint64_t bytes(std::size_t aggregator) const {
        return windows_[aggregator].bytes();
    }
    [[nodiscard]] bool empty(std::size_t aggregator) const { return windows_[aggregator].empty(); }
    /// Whether this round's window has bytes in `range`.
    [[nodiscard]] bool meets(std::size_t aggregator, Extent range) const;

private:
    [[nodiscard]] Positions next_window(std::size_t aggregator) const;
    void find_parts(std::size_t aggregator, Positions window, std::vector<Part>& parts) const;

    std::span<Realm const> realms_;
    std::uint64_t bytes_max_ = 1;
    std::uint64_t rounds_ = 0;
    std::uint64_t alignment_ = 0;
    std::vector<std::uint64_t> next_;  // realm positions
    std::vector<Positions> windows_;   // realm positions
    std::vector<std::vector<Part>> parts_;
};

}  // namespace unisono
