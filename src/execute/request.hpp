#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <numeric>

#include "access/copy.hpp"
#include "backends/mapped.hpp"
#include "backends/range_locks.hpp"
#include "devices/device_memory.hpp"
#include "exchange/team.hpp"
#include "execute/servers_seen.hpp"
#include "report/phases.hpp"
#include "report/timeline.hpp"
#include "support/clock.hpp"
#include "unisono/admission_gate.hpp"
#include "unisono/backend.hpp"
#include "unisono/view.hpp"

namespace unisono {

/// One rank's part of one call: which data positions of its view, and where they are in memory.
struct Request {
    Direction direction = Direction::write;
    Tiling view;
    Positions positions;  ///< of the view
    Tiling memory;
    std::uintptr_t base = 0;         ///< address of the memory tiling's offset 0
    std::uint64_t memory_begin = 0;  ///< position in memory of the first byte
    DeviceMemory const* device =
        nullptr;                    ///< the CPU cannot access the memory; see through_host.hpp
    std::uint64_t etype_bytes = 1;  ///< of the view; MPI wants it equal on all ranks

    /// The part of the memory that belongs to `part` of the view's positions.
    [[nodiscard]] Placed in_memory(Positions part) const {
        assert(part.begin >= positions.begin && part.end <= positions.end);
        auto const begin = memory_begin + part.begin - positions.begin;
        return {memory, {begin, begin + part.bytes()}, base};
    }
};

/// The open file as this rank accesses it. Does not own the descriptor.
struct Storage {
    int descriptor = -1;
    std::unique_ptr<Backend> backend;
    std::shared_ptr<AdmissionGate> gate;  ///< for what goes past the backend; may be null
    /// In MPI's atomic mode: a rank's whole request is one range, locked while it is performed.
    std::shared_ptr<RangeLocks> range_locks;
    /// See PageLock; null where the file cannot be locked, or the MPI library accesses it: that
    /// locks on NFS itself, and would wait for a lock of its own process for ever.
    std::shared_ptr<RangeLocks> page_locks;
    MmapSafeBytes mmap_safe_bytes =
        std::make_shared<std::atomic<std::uint64_t>>(0);  ///< of collective calls
    std::shared_ptr<ServersSeen> servers_seen = std::make_shared<ServersSeen>();
    bool local = false;           ///< on one node's own file system
    bool write_only = false;      ///< nobody reads what he has written through this file
    bool read_only = false;       ///< nobody writes through this file
    bool page_cached = false;     ///< whole pages are written back, see FileSystemFacts
    bool grows_alone = false;     ///< writes that make the file longer go alone, see there, too
    bool mappable_write = false;  ///< existing bytes may be written through a mapping
};

/// What one call did on this rank, for the report. Its clock starts with it.
class CallRecord {
public:
    using Clock = double (*)();  ///< seconds since whenever

    explicit CallRecord(Clock clock = steady_clock_s) : clock_{clock} {}

    std::uint64_t rounds = 0;
    Traffic traffic;

    /// Books the time since the last lap under a phase, so that every moment counts once, whoever
    /// laps.
    void lap(Phase phase) {
        auto const now_s = clock_();
        spent_s_[static_cast<std::size_t>(phase)] += now_s - last_s_;
        laps_.add(static_cast<std::uint8_t>(phase), now_s - last_s_);
        last_s_ = now_s;
    }
    [[nodiscard]] double operator[](Phase phase) const {
        return spent_s_[static_cast<std::size_t>(phase)];
    }
    /// When that was last done.
    [[nodiscard]] double now_s() const { return last_s_; }
    /// All that was booked so far.
    [[nodiscard]] double whole_s() const {
        return std::accumulate(spent_s_.begin(), spent_s_.end(), 0.0);
    }

    /// The same, one after another.
    [[nodiscard]] CallsInTime in_time() const {
        return {.begin_s = since_epoch(begin_s_), .end_s = since_epoch(last_s_), .laps = laps_};
    }

private:
    Clock clock_;
    double begin_s_ = clock_();
    double last_s_ = begin_s_;
    Laps laps_;
    std::array<double, static_cast<std::size_t>(Phase::whole)> spent_s_{};
};

}  // namespace unisono
