#pragma once

#include <array>
#include <deque>
#include <map>

#include "model/scheduler.hpp"

namespace unisono::testbed {

/// Ascending batches of reads, or of writes when these have waited for long; a request that is
/// overdue begins the next batch. Flushes go first.
///
/// Source: Linux block/deadline-iosched.c with its defaults (read_expire 500 ms, write_expire 5 s,
/// writes_starved 2, fifo_batch 16).
class Deadline final : public Scheduler {
public:
    void add(Time now, BlockRequest const& request) override;
    std::optional<BlockRequest> next(Time now) override;
    void finished(Time /*now*/, BlockRequest const& /*request*/) override {}

private:
    static constexpr int fifo_batch = 16;

    struct Queued {
        BlockRequest request;
        Time deadline;
    };

    struct Queue {
        std::multimap<std::uint64_t, Queued> by_sector;

        [[nodiscard]] std::multimap<std::uint64_t, Queued>::iterator oldest();
    };

    [[nodiscard]] std::size_t choose_direction();

    std::deque<BlockRequest> flushes_;
    std::array<Queue, 2> queues_;  // reads, writes
    std::size_t direction_ = 0;
    std::uint64_t next_sector_ = 0;
    int batch_ = fifo_batch;  // the first request begins a batch
    int starved_ = 0;
};

}  // namespace unisono::testbed
