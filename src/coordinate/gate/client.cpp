#include "coordinate/gate/client.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

namespace unisono::coordinate {

namespace {

// A turn lasts tens of milliseconds at least; who waits looks at a clock and a few words only.
constexpr Time nap_min = millisecond / 20;
constexpr Time nap_max = millisecond / 2;

void sleep_for(Time time) {
    timespec const nap{.tv_sec = 0, .tv_nsec = time};
    nanosleep(&nap, nullptr);
}

}  // namespace

Time monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second + now.tv_nsec;
}

GateClient::Pass& GateClient::Pass::operator=(Pass&& other) noexcept {
    end();
    waited = other.waited;
    client_ = other.client_;
    count_ = other.count_;
    first_ticket_ = std::exchange(other.first_ticket_, 0);
    return *this;
}

void GateClient::Pass::end() {
    if (auto const first = std::exchange(first_ticket_, 0); first != 0)
        client_->seat_->finished(first, count_, monotonic_now());
}

std::shared_ptr<GateClient> GateClient::join(std::span<std::string const> folders,
                                             std::function<std::string()> const& program) {
    for (auto const& folder : folders) {
        auto page = PageView::find(folder);
        if (!page) continue;
        auto const id = program();
        // Who cannot say what it does must not be held: nobody would know that it waits.
        auto seat = Seat::take(folder, id);
        if (seat == nullptr) continue;
        return std::shared_ptr<GateClient>(new GateClient(std::move(*page), std::move(seat), id));
    }
    return nullptr;
}

GateClient::Pass GateClient::enter(std::span<AccessPlace const> places, std::uint64_t file,
                                   std::function<void()> const& progress) {
    auto const arrived = monotonic_now();
    auto const count = static_cast<std::uint32_t>(places.size());
    auto const openings = page_.openings();
    bool const passes = page_.admits(program_, arrived);
    auto const ticket = seat_->arrived(!passes, places, file, arrived);
    Pass pass(*this, ticket, count);
    bool const is_known = ticket != 0;  // else nobody would let it in
    if (passes || !is_known) return pass;
    wait(openings, progress);
    auto const now = monotonic_now();
    seat_->released(ticket, count, now);
    pass.waited = now - arrived;
    return pass;
}

void GateClient::wait(std::uint32_t openings, std::function<void()> const& progress) const {
    for (Time nap = nap_min;
         page_.openings() == openings && !page_.admits(program_, monotonic_now());
         nap = std::min(nap + nap / 2, nap_max)) {
        progress();
        sleep_for(nap);
    }
}

std::shared_ptr<GateClient> shared_gate_client(std::span<std::string const> folders,
                                               std::function<std::string()> const& program) {
    static std::mutex mutex;
    // Files may be used until the very end of the process.
    static auto* const known = new std::map<std::string, std::weak_ptr<GateClient>>;
    if (folders.empty()) return nullptr;
    std::lock_guard const lock(mutex);
    auto& entry = (*known)[folders.front()];
    auto client = entry.lock();
    if (client == nullptr || client->retired()) entry = client = GateClient::join(folders, program);
    if (client == nullptr) known->erase(folders.front());
    return client;
}

}  // namespace unisono::coordinate
