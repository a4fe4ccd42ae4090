#pragma once

#include <deque>
#include <map>

#include "model/context_habits.hpp"
#include "model/scheduler.hpp"

namespace unisono::testbed {

/// Slices of time for each context in turn. Within its slice a context's requests go in ascending
/// order; when it has none, the drive is kept idle for a while, because its next request is likely
/// to be near. Not for contexts that think for long or jump about. All asynchronous writes are one
/// context with a shorter slice and no idling.
///
/// Source: Linux 2.6.2x block/cfq-iosched.c with its defaults (cfq_quantum 4, slice_sync 100 ms,
/// slice_async 40 ms, slice_idle 8 ms, weights of think time and seek distance 7/8 old to 1/8 new,
/// a mean seek of more than 8 * 1024 sectors is "seeky").
/// Differs: one priority; slices are not shortened by earlier overruns; no preemption but by the
/// end of a slice. Servers with later kernels get it, too: Linux 3.0 has cfq_quantum 8, and tells
/// who is "seeky" by the last 32 jumps.
class Cfq final : public Scheduler {
public:
    void add(Time now, BlockRequest const& request) override;
    std::optional<BlockRequest> next(Time now) override;
    void finished(Time now, BlockRequest const& request) override;
    [[nodiscard]] Time next_event() const override;

private:
    static constexpr std::uint64_t asynchronous = ~std::uint64_t{0};

    struct Context {
        std::multimap<std::uint64_t, BlockRequest> waiting;  // by sector
        int in_drive = 0;
        bool queued = false;  // waits for its turn
        bool lives = true;
        ContextHabits habits;
    };

    static std::uint64_t context_of(BlockRequest const& request);
    [[nodiscard]] bool worth_idling(std::uint64_t id) const;
    void expire();
    bool activate_next(Time now);
    BlockRequest take(Context& context);

    std::map<std::uint64_t, Context> contexts_;
    std::deque<std::uint64_t> turns_;
    std::deque<BlockRequest> flushes_;
    bool active_ = false;
    std::uint64_t active_id_ = 0;
    Time slice_end_ = 0;
    Time idle_until_ = never;  // not idling
    std::uint64_t position_ = 0;
};

}  // namespace unisono::testbed
