#include "orchestra/gate/client.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

namespace unisono::orchestra {

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
    is_waited_for_ = other.is_waited_for_;
    first_token_ = std::exchange(other.first_token_, 0);
    return *this;
}

void GateClient::Pass::waited_for(bool now) {
    if (first_token_ == 0 || std::exchange(is_waited_for_, now) == now) return;
    client_->slot_->waited_for(now);
}

void GateClient::Pass::end() {
    waited_for(false);
    if (auto const first = std::exchange(first_token_, 0); first != 0)
        client_->slot_->finished(first, count_, monotonic_now());
}

std::shared_ptr<GateClient> GateClient::join(std::span<GatePaths const> gates,
                                             std::function<std::string()> const& program) {
    for (auto const& gate : gates) {
        auto page = PageView::find(gate.folder);
        if (!page || !is_folder_of(page->owner(), gate.slots)) continue;
        auto const id = program();
        // Who cannot say what it does must not be held: nobody would know that it waits.
        auto slot = Slot::take(gate.slots, id);
        if (slot == nullptr) continue;
        auto const known_as = program_id_at_gate(id, geteuid(), page->owner());
        return std::shared_ptr<GateClient>(
            new GateClient(std::move(*page), std::move(slot), known_as));
    }
    return nullptr;
}

bool GateClient::retired() {
    auto const now_s = coarse_seconds();
    if (looked_s_.load(std::memory_order_relaxed) != now_s) {
        looked_s_.store(now_s, std::memory_order_relaxed);
        is_taken_away_.store(page_.is_taken_away(), std::memory_order_relaxed);
    }
    return page_.retired() || is_taken_away_.load(std::memory_order_relaxed);
}

GateClient::Pass GateClient::enter(std::span<DiskAddress const> addresses, std::uint64_t file,
                                   std::function<void()> const& progress) {
    auto const arrived = monotonic_now();
    auto const count = static_cast<std::uint32_t>(addresses.size());
    auto const openings = page_.openings();
    bool const passes = page_.admits(program_, arrived);
    auto const token = slot_->arrived(!passes, addresses, file, arrived);
    Pass pass(*this, token, count);
    pass.waited_for(true);
    bool const is_known = token != 0;  // else nobody would let it in
    if (passes || !is_known) return pass;
    wait(openings, arrived + lease_max, progress);
    auto const now = monotonic_now();
    slot_->released(token, count, now);
    pass.waited = now - arrived;
    return pass;
}

void GateClient::wait(std::uint32_t openings, Time until,
                      std::function<void()> const& progress) const {
    for (Time nap = nap_min, now = monotonic_now();
         now < until && page_.openings() == openings && !page_.admits(program_, now) &&
         slot_->is_heard();
         nap = std::min(nap + nap / 2, nap_max), now = monotonic_now()) {
        progress();
        sleep_for(nap);
    }
}

namespace {

// Root's gate is for everybody, so it comes first.
std::vector<GatePaths> gates_of(dev_t device, std::string const& runtime) {
    std::vector<GatePaths> gates{gate_paths(device, 0, runtime)};
    if (auto const own = geteuid(); own != 0) gates.push_back(gate_paths(device, own, runtime));
    return gates;
}

}  // namespace

std::shared_ptr<GateClient> shared_gate_client(dev_t device, std::string const& runtime,
                                               std::function<std::string()> const& program) {
    struct Known {
        std::weak_ptr<GateClient> client;
        std::int64_t none_at_s = -1;  // there was no gate then
    };
    static std::mutex mutex;
    // Files may be used until the very end of the process.
    static auto* const known = new std::map<std::pair<dev_t, std::string>, Known>;
    std::lock_guard const lock(mutex);
    auto& entry = (*known)[{device, runtime}];
    auto client = entry.client.lock();
    if (client != nullptr && !client->retired()) return client;
    auto const now_s = coarse_seconds();
    if (entry.none_at_s == now_s) return nullptr;
    entry.client = client = GateClient::join(gates_of(device, runtime), program);
    entry.none_at_s = client == nullptr ? now_s : -1;
    return client;
}

}  // namespace unisono::orchestra
