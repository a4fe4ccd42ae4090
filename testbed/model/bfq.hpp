#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "model/context_habits.hpp"
#include "model/scheduler.hpp"

namespace unisono::testbed {

/// BFQ-like: the context that has the drive keeps it until it has used up its budget of sectors,
/// has nothing more (the drive is kept idle for a while, as with Cfq), or has had it for too long.
/// Then the one is next whose budget would end first in virtual time, of those that are not ahead
/// of their share (worst-case fair weighted fair queueing, all weights equal). Budgets follow what
/// was used: more for who exhausts them, less for who runs dry. Who takes too long is charged the
/// whole budget, so that those who seek cannot take others' time.
///
/// Source: Valente and Checconi, High Throughput Disk Scheduling with Fair Bandwidth Distribution
/// (IEEE Transactions on Computers, 2010); constants of Linux 4.12 to 5.x block/bfq-iosched.c
/// (budgets of 16 * 1024 sectors at most and a 32nd of it at least, 125 ms, 8 ms of idling, writes
/// that nobody waits for count three times).
/// Differs: one weight; the largest budget is not tuned to the drive's rate; no heuristics for
/// interactive or soft real-time programs; nothing is merged or injected.
class Bfq final : public Scheduler {
public:
    void add(Time now, BlockRequest const& request) override;
    std::optional<BlockRequest> next(Time now) override;
    void finished(Time now, BlockRequest const& request) override;
    [[nodiscard]] Time next_event() const override;

private:
    static constexpr std::uint64_t asynchronous = ~std::uint64_t{0};
    static constexpr double budget_max = 16 * 1024;  // sectors
    static constexpr double budget_min = budget_max / 32;

    struct Context {
        std::multimap<std::uint64_t, BlockRequest> waiting;  // by sector
        int in_drive = 0;
        bool queued = false;  // waits for its turn
        bool lives = true;
        ContextHabits habits;
        double budget = 2 * budget_max / 3;
        double used = 0;   // of it
        double start = 0;  // virtual times: sectors that everyone should have had by then
        double end = 0;
    };

    enum class Reason : std::uint8_t { exhausted, too_slow, idle };

    static std::uint64_t context_of(BlockRequest const& request);
    static double charge_of(BlockRequest const& request);
    static void adapt(Context& context, Reason reason);
    void enqueue(Context& context);
    void expire(Reason reason);
    bool activate_next(Time now);
    [[nodiscard]] bool is_worth_idling() const;
    std::optional<BlockRequest> take(Context& context);

    std::map<std::uint64_t, Context> contexts_;
    std::deque<BlockRequest> flushes_;
    std::size_t queued_ = 0;
    bool active_ = false;
    std::uint64_t active_id_ = 0;
    Time timeout_ = never;
    Time idle_until_ = never;  // not idling
    double virtual_time_ = 0;
    std::uint64_t position_ = 0;
};

}  // namespace unisono::testbed
