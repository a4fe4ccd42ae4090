#include "pocketfs/gate.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "support/signals_blocked.hpp"

namespace unisono::testbed {

namespace {

using Clock = std::chrono::steady_clock;

// An attribute's value has room for so much.
constexpr std::size_t report_bytes_max = 60'000;

constexpr Time longest_turn_wait = 100 * millisecond;

Time now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
}

}  // namespace

Gate::Gate(std::uint32_t servers, double capacity_bytes) : server_gate_(servers, capacity_bytes) {
    SignalsBlocked const signals_blocked;  // they are for the program's main thread
    thread_ = std::thread([this] { run(); });
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

void Gate::enter(ServerRequest const& server_request, Go go) {
    if (!watched_) {
        go({});
        return;
    }
    AdmissionToken token;
    {
        std::lock_guard const lock(mutex_);
        Time const time = now();
        if (!server_gate_.arrived(server_request, time) && !stopped_) {
            held_.push_back({server_request, std::string(server_request.program), std::move(go)});
            wake_.notify_one();
            return;
        }
        token = server_gate_.admit(server_request, false, time);
        token.watch = watch_;
    }
    go(std::move(token));
}

void Gate::on_disk(std::uint32_t server, DiskRequest const& request) {
    if (!watched_) return;
    std::lock_guard const lock(mutex_);
    server_gate_.on_disk({.server = server, .address = request.address, .file = request.file},
                         request.sent);
}

void Gate::finished(AdmissionToken const& token, Time time) {
    if (token.program.empty()) return;
    std::lock_guard const lock(mutex_);
    if (token.watch != watch_) return;
    server_gate_.finished(token, time);
    // Its turn may be over soon.
    if (!held_.empty()) wake_.notify_one();
}

// Takes out of the queue what may pass now, in the order in which it came.
std::vector<Gate::Admitted> Gate::release_admitted(Time time) {
    std::vector<Admitted> released;
    std::deque<Held> kept;
    for (auto& held : held_) {
        if (!stopped_ && !server_gate_.admits(held.program)) {
            kept.push_back(std::move(held));
            continue;
        }
        held.server_request.program = held.program;
        auto token = server_gate_.admit(held.server_request, true, time);
        token.watch = watch_;
        released.push_back({std::move(held.go), std::move(token)});
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
        auto& slice_scheduler = server_gate_.slice_scheduler();
        slice_scheduler.advance(time);
        if (time - last_report_ > watched_for && slice_scheduler.is_open()) watched_ = false;
        auto released = release_admitted(time);
        if (!released.empty()) {
            lock.unlock();
            for (auto& one : released) one.go(std::move(one.token));
            lock.lock();
            continue;
        }
        if (last || stopped_) continue;
        auto const next = std::min(slice_scheduler.next_event(), time + longest_turn_wait);
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
        server_gate_.reset();
        watched_ = true;
        wake_.notify_one();
    }
    last_report_ = time;
}

std::string Gate::report() {
    orchestra::Report report;
    {
        std::lock_guard const lock(mutex_);
        Time const time = now();
        begin_watch(time);
        report = server_gate_.report(time);
    }
    return orchestra::show(std::move(report), report_bytes_max);
}

int Gate::adopt(std::string_view text) {
    auto schedule = orchestra::parse_schedule(text);
    if (!schedule) return EINVAL;
    std::lock_guard const lock(mutex_);
    begin_watch(now());
    if (!server_gate_.slice_scheduler().adopt(std::move(*schedule), now())) return ESTALE;
    wake_.notify_one();
    return 0;
}

std::string Gate::turns() const {
    std::lock_guard const lock(mutex_);
    std::string text = "begin_us,end_us,object\n";
    for (auto const& turn : server_gate_.slice_scheduler().history()) {
        char line[64];
        std::snprintf(line, sizeof line, "%.1f,%.1f,", static_cast<double>(turn.begin) / 1e3,
                      static_cast<double>(turn.end) / 1e3);
        text.append(line).append(turn.object).push_back('\n');
    }
    return text;
}

void Gate::clear_turns() {
    std::lock_guard const lock(mutex_);
    server_gate_.slice_scheduler().clear_history();
}

}  // namespace unisono::testbed
