#pragma once

#include <algorithm>
#include <atomic>

#include "unisono/plan.hpp"

namespace unisono {

/// What windows have told this rank of a file system's servers, and of its node's link to them.
/// Thread-safe. Ours.
class ServersSeen {
public:
    /// The first bytes of the last call that read came far more slowly than any link carries them.
    std::atomic<bool> slow = false;

    /// A window was accessed; faster than the slowest link carries it, or not. Fast ones count for
    /// some windows to come: others wait for disks, and this one may have been in memory.
    void note_window(Direction direction, bool fast) {
        constexpr int to_come = 16;
        auto& left = windows_left_[direction].value;
        left = fast ? to_come : std::max(0, left - 1);
    }

    /// As far as was seen.
    [[nodiscard]] Links links(Direction direction) const {
        auto const left = windows_left_[direction].value.load();
        if (direction == Direction::read && slow) return Links::idle;
        if (left > 0) return Links::fast;
        return left == 0 ? Links::busy : Links::unknown;
    }

private:
    struct WindowsLeft {
        std::atomic<int> value = -1;  // none was accessed yet
    };
    ByDirection<WindowsLeft> windows_left_;
};

}  // namespace unisono
