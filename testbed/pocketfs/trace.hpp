#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "model/server.hpp"

namespace unisono::testbed {

/// One request as it came to a server.
struct TraceEntry {
    Time time = 0;
    std::uint32_t server = 0;
    Operation operation = Operation::read;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t process = 0;
    char program[16] = {};
};

/// The last requests, up to a fixed number. Thread-safe.
class Trace {
public:
    void add(TraceEntry const& entry);
    void clear();
    /// Lines "time_us,server,lba,bytes,operation,process,program" with a heading.
    [[nodiscard]] std::string csv() const;

private:
    static constexpr std::size_t entries_max = 1 << 20;

    mutable std::mutex mutex_;
    std::vector<TraceEntry> entries_;
    std::size_t oldest_ = 0;  // once all are in use
};

}  // namespace unisono::testbed
