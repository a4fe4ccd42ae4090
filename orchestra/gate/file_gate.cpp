#include "orchestra/gate/file_gate.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "orchestra/gate/coarse_seconds.hpp"
#include "support/hash.hpp"

namespace unisono::orchestra {

namespace {

std::optional<std::pair<std::uint64_t, std::uint64_t>> identity_of(int descriptor) {
    struct stat status {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return {};
    return std::pair{status.st_dev, status.st_ino};
}

class AtClient final : public AdmissionGate::Access {
public:
    AtClient(std::shared_ptr<GateClient> client, GateClient::Pass pass)
        : client_(std::move(client)), pass_(std::move(pass)) {}
    void waited_for(bool now) override { pass_.waited_for(now); }

private:
    std::shared_ptr<GateClient> client_;  // outlives its pass
    GateClient::Pass pass_;
};

}  // namespace

FileGate::FileGate(Setup setup) : setup_(std::move(setup)) {
    auto const identity = setup_.identity ? setup_.identity : identity_of(setup_.descriptor);
    if (!identity) return;
    // A gate is for one file system, which has another device number on each node.
    device_ = identity->first;
    file_ = hash64(std::to_string(identity->second));
    looked_s_ = coarse_seconds();
    look();
}

void FileGate::use(Layout const& layout) {
    std::lock_guard const lock(mutex_);
    layout_ = layout;
    if (disk_addresses_ != nullptr) disk_addresses_->use(layout);
}

std::shared_ptr<GateClient> FileGate::client() {
    std::shared_ptr<GateClient> known;
    if (has_client_.load(std::memory_order_acquire)) {
        std::lock_guard const lock(mutex_);
        known = client_;
    }
    if (known != nullptr && !known->retired()) return known;
    if (!device_) return nullptr;
    if (known == nullptr && !joins_late_.load(std::memory_order_relaxed)) return nullptr;
    auto const now_s = coarse_seconds();
    auto looked_s = looked_s_.load(std::memory_order_relaxed);
    if (looked_s == now_s || !looked_s_.compare_exchange_strong(looked_s, now_s)) return nullptr;
    return look();
}

std::shared_ptr<GateClient> FileGate::look() {
    auto found = shared_gate_client(*device_, setup_.runtime, setup_.program);
    if (found != nullptr) joins_late_ = true;  // it may come back, whoever uses the file
    std::lock_guard const lock(mutex_);
    if (found != nullptr && disk_addresses_ == nullptr) {
        disk_addresses_ = std::make_unique<DiskAddresses>(setup_.local ? setup_.descriptor : -1,
                                                          file_, found->capacity_bytes());
        disk_addresses_->use(layout_);
    }
    client_ = found;
    has_client_.store(found != nullptr, std::memory_order_release);
    return found;
}

AdmissionGate::Pass FileGate::enter(std::span<Transfer const> list) {
    auto at = client();
    if (at == nullptr) return nullptr;
    auto const addresses = disk_addresses_->of(list);
    return addresses.empty() ? nullptr : enter(std::move(at), addresses);
}

AdmissionGate::Pass FileGate::enter_somewhere(std::uint64_t bytes) {
    auto at = client();
    DiskAddress const address{.bytes = bytes};
    return at == nullptr ? nullptr : enter(std::move(at), {&address, 1});
}

AdmissionGate::Pass FileGate::enter(std::shared_ptr<GateClient> at,
                                    std::span<DiskAddress const> addresses) {
    auto pass = at->enter(addresses, file_, setup_.progress);
    std::lock_guard const lock(mutex_);
    ++counts_.accesses;
    counts_.locality = std::max(counts_.locality, addresses.front().kind);
    if (pass.waited > 0) {
        waits_.store(++counts_.waits, std::memory_order_relaxed);
        counts_.waited_s += to_ms(pass.waited) / 1e3;
    }
    return std::make_unique<AtClient>(std::move(at), std::move(pass));
}

FileGate::Counts FileGate::counts() const {
    std::lock_guard const lock(mutex_);
    return counts_;
}

}  // namespace unisono::orchestra
