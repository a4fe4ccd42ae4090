#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "support/last_times.hpp"

namespace unisono {

/// Whether large pieces of files are overwritten faster through a mapping or by system calls, as
/// this process has seen it. Writers of one file wait for its lock in a system call, each for all
/// others; where they are few, calls are faster (docs/lab/tried.md). Thread-safe.
class FasterWay {
public:
    /// Also, for a few writes, while little is known about mappings, where calls take so long that
    /// it may pay.
    [[nodiscard]] bool is_mapping() const;
    void note_call(std::uint64_t bytes, double seconds);
    void note_mapping(std::uint64_t bytes, double seconds);

private:
    mutable std::mutex mutex_;
    LastTimes calls_;
    LastTimes mappings_;
};

/// The same for all files of one file system that as many ranks open together.
std::shared_ptr<FasterWay> faster_way_for(dev_t device, std::uint32_t ranks);

}  // namespace unisono
