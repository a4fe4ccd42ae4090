#pragma once

#include <mpi.h>

#include <array>
#include <atomic>

namespace unisono::interpose {

/// The shared file pointer of a file whose view the MPI library does not know, in etypes. Its value
/// is in memory that the ranks share, or that one rank has for itself: then only collective calls
/// may move it, on all ranks alike. Movable; refers to the memory.
class SharedPointer {
public:
    /// Zeroed. Two values take turns: when all ranks have left the old one, the next one is there.
    struct Values {
        std::array<std::atomic<MPI_Offset>, 2> both{};
    };

    explicit SharedPointer(Values& values) : values_{&values} {}

    [[nodiscard]] MPI_Offset value() const { return now().load(std::memory_order_acquire); }
    /// Reserves so many etypes: where they begin. Any rank, at any time.
    MPI_Offset advance(MPI_Offset etypes) {
        return now().fetch_add(etypes, std::memory_order_acq_rel);
    }
    /// Not back. On all ranks, before they do anything else with it.
    void advance_to(MPI_Offset target) {
        for (auto seen = value(); seen < target;)
            if (now().compare_exchange_weak(seen, target, std::memory_order_acq_rel)) return;
    }

    /// The value after the next meeting. On one rank of those that share it.
    void announce(MPI_Offset next) {
        values_->both[1 - turn_].store(next, std::memory_order_release);
    }
    /// On all ranks, after they have met: what was announced is the value now.
    void take_announced() { turn_ = 1 - turn_; }

private:
    [[nodiscard]] std::atomic<MPI_Offset>& now() const { return values_->both[turn_]; }

    Values* values_;
    std::size_t turn_ = 0;
};

}  // namespace unisono::interpose
