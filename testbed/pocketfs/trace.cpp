#include "pocketfs/trace.hpp"

#include <cstdio>

#include "model/geometry.hpp"

namespace unisono::testbed {

void Trace::add(TraceEntry const& entry) {
    std::lock_guard const lock(mutex_);
    if (entries_.size() < entries_max) {
        entries_.push_back(entry);
        return;
    }
    entries_[oldest_] = entry;
    oldest_ = (oldest_ + 1) % entries_max;
}

void Trace::clear() {
    std::lock_guard const lock(mutex_);
    entries_.clear();
    oldest_ = 0;
}

std::string Trace::csv() const {
    std::vector<TraceEntry> entries;
    {
        std::lock_guard const lock(mutex_);
        auto const middle = entries_.begin() + static_cast<std::ptrdiff_t>(oldest_);
        entries.assign(middle, entries_.end());
        entries.insert(entries.end(), entries_.begin(), middle);
    }
    std::string text = "time_us,server,lba,bytes,operation,process,program\n";
    for (auto const& entry : entries) {
        char const* const operation = entry.operation == Operation::read    ? "read"
                                      : entry.operation == Operation::write ? "write"
                                                                            : "flush";
        char line[160];
        std::snprintf(line, sizeof line, "%.1f,%u,%llu,%llu,%s,%u,%s\n",
                      static_cast<double>(entry.time) / 1e3, entry.server,
                      static_cast<unsigned long long>(entry.address / sector_bytes),
                      static_cast<unsigned long long>(entry.bytes), operation, entry.process,
                      entry.program);
        text += line;
    }
    return text;
}

}  // namespace unisono::testbed
