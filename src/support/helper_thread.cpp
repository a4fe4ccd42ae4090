#include "support/helper_thread.hpp"

#include <system_error>
#include <utility>

#include "support/signals_blocked.hpp"

namespace unisono {
namespace {

thread_local bool helps = false;

}  // namespace

bool HelperThread::is_this_one() { return helps; }

HelperThread::~HelperThread() {
    std::lock_guard const lock{mutex_};
    ending_ = true;
    changed_.notify_all();
}

// Locked.
bool HelperThread::start() {
    if (thread_.joinable()) return true;
    try {
        SignalsBlocked const blocked;
        thread_ = std::jthread{[this] { run(); }};
    } catch (std::system_error const&) {
        return false;
    }
    return true;
}

void HelperThread::post(std::function<void()> task) {
    {
        std::lock_guard const lock{mutex_};
        if (start()) {
            tasks_.push_back(std::move(task));
            ++posted_;
            changed_.notify_all();
            return;
        }
    }
    task();
}

std::uint64_t HelperThread::posted() const {
    std::lock_guard const lock{mutex_};
    return posted_;
}

bool HelperThread::has_done(std::uint64_t tasks) const {
    std::lock_guard const lock{mutex_};
    return done_ >= tasks;
}

void HelperThread::run() {
    helps = true;
    std::unique_lock lock{mutex_};
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        auto const task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        lock.lock();
        ++done_;
    }
}

}  // namespace unisono
