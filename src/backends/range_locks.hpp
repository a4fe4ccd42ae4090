#pragma once

#include <mutex>

#include "unisono/extent.hpp"

namespace unisono {

/// Locks on ranges of one open file, for MPI's atomic mode. They exclude other processes that lock,
/// also by fcntl's older kind, as MPI libraries do, and one another's threads. On network file
/// systems a lock makes the kernel look at the server again. Thread-safe.
class RangeLocks {
public:
    /// The descriptor stays the caller's, and is open for what is locked: reading or writing.
    explicit RangeLocks(int descriptor) : descriptor_{descriptor} {}

    /// The file system has such locks. Locks a byte that no file has, for a moment.
    [[nodiscard]] bool work(Direction direction) const;

    /// A range that is locked while this lives. Waits for it as long as it takes.
    class Held {
    public:
        Held(RangeLocks& locks, Direction direction, Extent range);
        ~Held();
        Held(Held const&) = delete;
        Held& operator=(Held const&) = delete;
        /// errno; 0: it is locked
        [[nodiscard]] int error() const { return error_; }

    private:
        int descriptor_;
        Extent range_;
        std::lock_guard<std::mutex> one_thread_;  // the kernel's locks belong to the open file
        int error_;
    };

private:
    int descriptor_;
    std::mutex mutex_;
};

}  // namespace unisono
