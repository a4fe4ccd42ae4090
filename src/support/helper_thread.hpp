#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace unisono {

/// Does things one after another beside its owner, in a thread that begins with the first of them
/// and ends with this object. Thread-safe.
class HelperThread {
public:
    HelperThread() = default;
    /// Waits until all is done.
    ~HelperThread();
    HelperThread(HelperThread const&) = delete;
    HelperThread& operator=(HelperThread const&) = delete;

    /// Does it here and now where there may be no more threads. `task` must not throw.
    void post(std::function<void()> task);

    /// How many were posted so far.
    [[nodiscard]] std::uint64_t posted() const;
    /// So many of them are done.
    [[nodiscard]] bool has_done(std::uint64_t tasks) const;
    /// All that was posted is done.
    [[nodiscard]] bool idle() const { return has_done(posted()); }

    /// Whether it is such a thread that asks.
    [[nodiscard]] static bool is_this_one();

private:
    void run();
    [[nodiscard]] bool start();

    mutable std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::uint64_t posted_ = 0;
    std::uint64_t done_ = 0;
    bool ending_ = false;
    std::jthread thread_;
};

}  // namespace unisono
