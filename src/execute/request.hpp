#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "access/copy.hpp"
#include "backends/mapped.hpp"
#include "coordinate/gate/file_gate.hpp"
#include "unisono/backend.hpp"
#include "unisono/view.hpp"

namespace unisono {

/// One rank's part of one call: which data positions of its view, and where they are in memory.
struct Request {
    Direction direction = Direction::write;
    Tiling view;
    Positions positions;  ///< of the view
    Tiling memory;
    std::uintptr_t base = 0;  ///< address of the memory tiling's offset 0

    /// The part of the memory that belongs to `part` of the view's positions.
    [[nodiscard]] Placed in_memory(Positions part) const {
        return {memory, {part.begin - positions.begin, part.end - positions.begin}, base};
    }
};

/// The open file as this rank accesses it. Does not own the descriptor.
struct Storage {
    int descriptor = -1;
    std::unique_ptr<Backend> backend;
    std::shared_ptr<coordinate::FileGate> gate;  ///< for what goes past the backend; may be null
    SettledBytes settled =
        std::make_shared<std::atomic<std::uint64_t>>(0);  ///< of collective calls
    bool local = false;                                   ///< on one node's own file system
    bool page_cached = false;     ///< whole pages are written back, see FileSystemFacts
    bool mappable_write = false;  ///< existing bytes may be written through a mapping
};

/// What one call did on this rank, for the report.
struct CallRecord {
    double waiting_s = 0;
    double exchange_s = 0;  ///< messages between nodes
    double copying_s = 0;
    double file_s = 0;
    std::uint64_t rounds = 0;
    std::uint64_t meetings = 0;      ///< rendezvous of all ranks
    std::uint64_t file_bytes = 0;    ///< moved to or from the file by this rank
    std::uint64_t file_extents = 0;  ///< contiguous pieces of that
    std::uint64_t messages = 0;
    std::uint64_t message_bytes = 0;
};

/// Adds the time since the last lap to a counter.
class Stopwatch {
public:
    void lap(double& seconds) {
        auto const now = Clock::now();
        seconds += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_ = Clock::now();
};

}  // namespace unisono
