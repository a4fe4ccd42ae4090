#include "coordinate/gate/file_gate.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "coordinate/gate/coarse_seconds.hpp"

namespace unisono::coordinate {

namespace {

// Root's gate is for everybody, so it comes first.
std::vector<std::string> folders_for(dev_t device, std::string const& runtime) {
    std::vector<std::string> folders{gate_folder(device, 0, runtime)};
    if (auto const own = geteuid(); own != 0) folders.push_back(gate_folder(device, own, runtime));
    return folders;
}

}  // namespace

FileGate::FileGate(Setup setup) : setup_(std::move(setup)) {
    struct stat status {};
    if (setup_.descriptor < 0 || fstat(setup_.descriptor, &status) != 0) return;
    folders_ = folders_for(status.st_dev, setup_.runtime);
    file_ = program_number(std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino));
    looked_s_ = coarse_seconds();
    look();
}

void FileGate::use(Layout const& layout) {
    std::lock_guard const lock(mutex_);
    layout_ = layout;
    if (places_ != nullptr) places_->use(layout);
}

GateClient* FileGate::client() {
    auto* const known = client_.load(std::memory_order_acquire);
    if (known != nullptr && !known->retired()) return known;
    if (folders_.empty()) return nullptr;
    if (known == nullptr && !joins_late_.load(std::memory_order_relaxed)) return nullptr;
    auto const now_s = coarse_seconds();
    auto looked_s = looked_s_.load(std::memory_order_relaxed);
    if (looked_s == now_s || !looked_s_.compare_exchange_strong(looked_s, now_s)) return nullptr;
    return look();
}

GateClient* FileGate::look() {
    auto found = shared_gate_client(folders_, setup_.program);
    if (found != nullptr) {
        joins_late_ = true;  // a gate that was there may come back, whoever uses the file
        std::lock_guard const lock(mutex_);
        if (places_ == nullptr) {
            places_ = std::make_unique<FilePlaces>(setup_.local ? setup_.descriptor : -1, file_,
                                                   found->capacity_bytes());
            places_->use(layout_);
        }
        clients_.push_back(found);
    }
    // Last: other threads that see it use the places.
    client_.store(found.get(), std::memory_order_release);
    return found.get();
}

GateClient::Pass FileGate::enter(std::span<Transfer const> list) {
    auto* const at = client();
    if (at == nullptr) return {};
    auto const places = places_->of(list);
    return places.empty() ? GateClient::Pass{} : enter(*at, places);
}

GateClient::Pass FileGate::enter_somewhere(std::uint64_t bytes) {
    auto* const at = client();
    AccessPlace const place{.bytes = bytes};
    return at == nullptr ? GateClient::Pass{} : enter(*at, {&place, 1});
}

GateClient::Pass FileGate::enter(GateClient& at, std::span<AccessPlace const> places) {
    auto pass = at.enter(places, file_, setup_.progress);
    std::lock_guard const lock(mutex_);
    ++counts_.passages;
    counts_.locality = std::max(counts_.locality, places.front().kind);
    if (pass.waited > 0) {
        ++counts_.waits;
        counts_.waited_s += to_ms(pass.waited) / 1e3;
    }
    return pass;
}

FileGate::Counts FileGate::counts() const {
    std::lock_guard const lock(mutex_);
    return counts_;
}

}  // namespace unisono::coordinate
