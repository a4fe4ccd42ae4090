#include "support/helper_threads.hpp"

#include <exception>
#include <new>
#include <utility>

#include "support/signals_blocked.hpp"

namespace unisono {
namespace {

thread_local bool helps = false;

}  // namespace

bool HelperThreads::is_one() { return helps; }

HelperThreads::~HelperThreads() {
    std::lock_guard const lock{mutex_};
    ending_ = true;
    changed_.notify_all();
}

// Locked. False: there is none, and there may be none.
bool HelperThreads::have_thread() {
    auto const all_are_busy = under_way_.size() + tasks_.size() >= threads_.size();
    if (!all_are_busy || threads_.size() == at_most_) return true;
    try {
        SignalsBlocked const blocked;
        threads_.emplace_back([this] { run(); });
    } catch (std::exception const&) {
        return !threads_.empty();
    }
    return true;
}

bool HelperThreads::hand_over(std::function<void()>& task) try {
    std::lock_guard const lock{mutex_};
    if (!have_thread()) return false;
    tasks_.push_back(std::move(task));
    ++posted_;
    changed_.notify_one();
    return true;
} catch (std::bad_alloc const&) {
    return false;
}

void HelperThreads::post(std::function<void()> task) {
    if (!hand_over(task)) task();
}

std::uint64_t HelperThreads::posted() const {
    std::lock_guard const lock{mutex_};
    return posted_;
}

bool HelperThreads::has_done(std::uint64_t tasks) const {
    std::lock_guard const lock{mutex_};
    return (under_way_.empty() ? begun() : under_way_.front()) >= tasks;
}

void HelperThreads::run() {
    helps = true;
    std::unique_lock lock{mutex_};
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        auto const number = begun();
        auto const task = std::move(tasks_.front());
        tasks_.pop_front();
        under_way_.push_back(number);
        lock.unlock();
        task();
        lock.lock();
        std::erase(under_way_, number);
    }
}

}  // namespace unisono
