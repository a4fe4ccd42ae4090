#include "pocketfs/gate.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

namespace unisono::testbed {

namespace {

using Clock = std::chrono::steady_clock;

// An attribute's value has room for so much.
constexpr std::size_t report_bytes_max = 60'000;

constexpr Time longest_wait = 100 * millisecond;

Time now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
}

}  // namespace

Gate::Gate(std::uint32_t servers, double capacity_bytes) : entrance_(servers, capacity_bytes) {
    // Signals are for the program's main thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Gate::stop() {
    {
        std::lock_guard const lock(mutex_);
        stopped_ = true;
        watched_ = false;
        wake_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

// ---- requests
// ------------------------------------------------------------------------------------

void Gate::enter(Passage const& passage, Go go) {
    if (!watched_) {
        go({});
        return;
    }
    Ticket ticket;
    {
        std::lock_guard const lock(mutex_);
        Time const time = now();
        if (!entrance_.arrived(passage, time) && !stopped_) {
            held_.push_back({passage, std::string(passage.program), std::move(go)});
            wake_.notify_one();
            return;
        }
        ticket = entrance_.admit(passage, false, time);
        ticket.watch = watch_;
    }
    go(std::move(ticket));
}

void Gate::finished(Ticket const& ticket, Time time) {
    if (ticket.program.empty()) return;
    std::lock_guard const lock(mutex_);
    if (ticket.watch != watch_) return;
    entrance_.finished(ticket, time);
    // Its turn may be over soon.
    if (!held_.empty()) wake_.notify_one();
}

// Takes out of the queue what may pass now, in the order in which it came.
std::vector<Gate::Admitted> Gate::release_admitted(Time time) {
    std::vector<Admitted> released;
    std::deque<Held> kept;
    for (auto& held : held_) {
        if (!stopped_ && !entrance_.admits(held.program)) {
            kept.push_back(std::move(held));
            continue;
        }
        held.passage.program = held.program;
        auto ticket = entrance_.admit(held.passage, true, time);
        ticket.watch = watch_;
        released.push_back({std::move(held.go), std::move(ticket)});
    }
    held_ = std::move(kept);
    return released;
}

void Gate::run() {
    pthread_setname_np(pthread_self(), "gate");
    std::unique_lock lock(mutex_);
    for (bool last = false; !last;) {
        last = stopped_;
        Time const time = now();
        auto& turnstile = entrance_.turnstile();
        turnstile.advance(time);
        if (time - last_report_ > watched_for && turnstile.is_open()) watched_ = false;
        auto released = release_admitted(time);
        if (!released.empty()) {
            lock.unlock();
            for (auto& one : released) one.go(std::move(one.ticket));
            lock.lock();
            continue;
        }
        if (last || stopped_) continue;
        auto const next = std::min(turnstile.next_event(), time + longest_wait);
        if (watched_)
            wake_.wait_until(lock, Clock::time_point(std::chrono::nanoseconds(next)));
        else
            wake_.wait(lock);
    }
}

// ---- the orchestrator
// ----------------------------------------------------------------------------

void Gate::begin_watch(Time time) {
    if (!watched_ && !stopped_) {
        ++watch_;
        entrance_.begin_anew();
        watched_ = true;
        wake_.notify_one();
    }
    last_report_ = time;
}

std::string Gate::report() {
    coordinate::Report report;
    {
        std::lock_guard const lock(mutex_);
        Time const time = now();
        begin_watch(time);
        report = entrance_.report(time);
    }
    return coordinate::show(std::move(report), report_bytes_max);
}

int Gate::adopt(std::string_view text) {
    auto schedule = coordinate::parse_schedule(text);
    if (!schedule) return EINVAL;
    std::lock_guard const lock(mutex_);
    begin_watch(now());
    if (!entrance_.turnstile().adopt(std::move(*schedule), now())) return ESTALE;
    wake_.notify_one();
    return 0;
}

std::string Gate::turns() const {
    std::lock_guard const lock(mutex_);
    std::string text = "begin_us,end_us,object\n";
    for (auto const& turn : entrance_.turnstile().history()) {
        char line[64];
        std::snprintf(line, sizeof line, "%.1f,%.1f,", static_cast<double>(turn.begin) / 1e3,
                      static_cast<double>(turn.end) / 1e3);
        text.append(line).append(turn.object).push_back('\n');
    }
    return text;
}

void Gate::clear_turns() {
    std::lock_guard const lock(mutex_);
    entrance_.turnstile().clear_history();
}

}  // namespace unisono::testbed
