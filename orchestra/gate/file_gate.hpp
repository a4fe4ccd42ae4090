#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orchestra/gate/client.hpp"
#include "orchestra/gate/disk_addresses.hpp"
#include "orchestra/gate/gate_paths.hpp"
#include "unisono/admission_gate.hpp"

namespace unisono::orchestra {

/// The gate as one open file finds it, if there is one: where every access of this process to the
/// file waits for its program's turn. Thread-safe.
///
/// Without an orchestrator it costs a failed open() when it is made (two for who is not root), once
/// a second for all files of a process, and a look at a coarse clock per access of files that are
/// used collectively; these try again once a second, so that they join when an orchestrator comes.
class FileGate final : public AdmissionGate {
public:
    struct Setup {
        int descriptor = -1;  ///< of the file; stays open meanwhile
        std::optional<std::pair<std::uint64_t, std::uint64_t>>
            identity;        ///< device and inode, where they are known
        bool local = false;  ///< on one node's own file system: it knows where the bytes are
        std::function<void()> progress;        ///< lets MPI make progress while an access waits
        std::function<std::string()> program;  ///< asked when there is a gate
        std::string runtime = chosen_runtime();
    };
    explicit FileGate(Setup setup);

    /// From now on the file looks for a gate that comes later.
    void join_late() { joins_late_.store(true, std::memory_order_relaxed); }
    void use(Layout const& layout);

    Pass enter(std::span<Transfer const> list) override;
    Pass enter_somewhere(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t waits() const override {
        return waits_.load(std::memory_order_relaxed);
    }

    struct Counts {
        std::uint64_t accesses = 0;
        std::uint64_t waits = 0;
        double waited_s = 0;
        LocalityKind locality = LocalityKind::none;  ///< how its addresses are known
    };
    [[nodiscard]] Counts counts() const;

private:
    std::shared_ptr<GateClient> client();
    std::shared_ptr<GateClient> look();
    Pass enter(std::shared_ptr<GateClient> at, std::span<DiskAddress const> addresses);

    Setup setup_;
    std::optional<dev_t> device_;  // none: no file, no gate
    std::uint64_t file_ = 0;
    std::atomic<bool> joins_late_ = false;
    std::atomic<std::int64_t> looked_s_ = 0;
    std::atomic<bool> has_client_ = false;
    std::atomic<std::uint64_t> waits_ = 0;  // those of `counts_`, for every call to look at
    mutable std::mutex mutex_;              // guards what follows
    std::shared_ptr<GateClient> client_;    // accesses that are under way keep theirs
    std::unique_ptr<DiskAddresses> disk_addresses_;
    Layout layout_;
    Counts counts_;
};

}  // namespace unisono::orchestra
