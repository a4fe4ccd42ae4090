#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "unisono/extent.hpp"

namespace unisono::interpose {

/// Whether another thread had better do a nonblocking call of a single rank: large ones, and small
/// ones while such have to wait for a disk or a server. Of one file. Thread-safe.
class OverlapGain {
public:
    [[nodiscard]] bool expected(Direction direction, std::uint64_t bytes) const {
        return bytes >= large || took_s_[direction].load(relaxed) >= slow_s;
    }

    /// A call took so long, by whichever thread. One that was slow counts for some calls to come:
    /// others find in memory what it has read along.
    void note(Direction direction, std::uint64_t bytes, double seconds) {
        if (bytes >= large) return;
        auto& took_s = took_s_[direction];
        took_s.store(std::max(seconds, took_s.load(relaxed) * 7 / 8), relaxed);
    }

private:
    // Handing a call to another thread takes as long as copying some 100 KiB.
    static constexpr std::uint64_t large = 256 * 1024;
    static constexpr double slow_s = 100e-6;

    static constexpr auto relaxed = std::memory_order_relaxed;

    ByDirection<std::atomic<double>> took_s_;
};

}  // namespace unisono::interpose
