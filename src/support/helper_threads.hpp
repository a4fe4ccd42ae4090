#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace unisono {

/// Does things beside its owner, in threads that begin when there is more to do than others have
/// time for, and end with this object. Things begin in the order in which they were posted; with
/// one thread each ends before the next one begins. Thread-safe.
class HelperThreads {
public:
    explicit HelperThreads(std::size_t at_most) : at_most_{at_most} { under_way_.reserve(at_most); }
    /// Waits until all is done.
    ~HelperThreads();
    HelperThreads(HelperThreads const&) = delete;
    HelperThreads& operator=(HelperThreads const&) = delete;

    /// Does it here and now where there may be no more threads, or is no memory. `task` must not
    /// throw.
    void post(std::function<void()> task);

    /// How many were posted so far.
    [[nodiscard]] std::uint64_t posted() const;
    /// The first so many of them are done.
    [[nodiscard]] bool has_done(std::uint64_t tasks) const;
    /// All that was posted is done.
    [[nodiscard]] bool idle() const { return has_done(posted()); }

    /// Whether it is such a thread that asks.
    [[nodiscard]] static bool is_one();

private:
    void run();
    [[nodiscard]] bool have_thread();
    [[nodiscard]] bool hand_over(std::function<void()>& task);
    [[nodiscard]] std::uint64_t begun() const { return posted_ - tasks_.size(); }

    std::size_t at_most_;
    mutable std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::uint64_t posted_ = 0;
    std::vector<std::uint64_t> under_way_;  // numbers of those that have begun, ascending
    bool ending_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace unisono
