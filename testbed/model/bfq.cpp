#include "model/bfq.hpp"

#include <algorithm>

namespace unisono::testbed {

namespace {

constexpr Time budget_timeout = 125 * millisecond;
constexpr double asynchronous_charge = 3;
constexpr std::size_t contexts_kept = 256;

}  // namespace

std::uint64_t Bfq::context_of(BlockRequest const& request) {
    return request.synchronous ? request.context : asynchronous;
}

double Bfq::charge_of(BlockRequest const& request) {
    auto const sectors = static_cast<double>(request.command.sectors);
    return request.synchronous ? sectors : asynchronous_charge * sectors;
}

void Bfq::add(Time now, BlockRequest const& request) {
    if (request.command.operation == Operation::flush) {
        flushes_.push_back(request);
        return;
    }
    auto const id = context_of(request);
    auto& context = contexts_[id];
    context.habits.sent(now, request.command);
    context.lives = request.context_lives;
    context.waiting.emplace(request.command.sector, request);
    if (active_ && active_id_ == id)
        idle_until_ = never;
    else if (!context.queued)
        enqueue(context);
}

// ---- whose turn it is
// ----------------------------------------------------------------------------

// Who was away gets no credit for it; who comes back early waits until its share is due.
void Bfq::enqueue(Context& context) {
    context.queued = true;
    ++queued_;
    context.start = std::max(virtual_time_, context.end);
    context.end = context.start + context.budget;
}

bool Bfq::activate_next(Time now) {
    if (queued_ == 0) return false;
    auto earliest_start = contexts_.end();
    auto chosen = contexts_.end();
    for (auto entry = contexts_.begin(); entry != contexts_.end(); ++entry) {
        auto const& context = entry->second;
        if (!context.queued) continue;
        if (earliest_start == contexts_.end() || context.start < earliest_start->second.start)
            earliest_start = entry;
        bool const is_due = context.start <= virtual_time_;
        if (is_due && (chosen == contexts_.end() || context.end < chosen->second.end))
            chosen = entry;
    }
    if (chosen == contexts_.end()) {
        chosen = earliest_start;
        virtual_time_ = chosen->second.start;
    }
    active_ = true;
    active_id_ = chosen->first;
    chosen->second.queued = false;
    chosen->second.used = 0;
    --queued_;
    timeout_ = now + budget_timeout;
    idle_until_ = never;
    return true;
}

void Bfq::adapt(Context& context, Reason reason) {
    auto& budget = context.budget;
    if (reason == Reason::exhausted)
        budget *= 4;
    else if (reason == Reason::too_slow || context.in_drive > 0)
        budget *= 2;
    else
        budget = context.used;
    budget = std::clamp(budget, budget_min, budget_max);
}

void Bfq::expire(Reason reason) {
    auto& context = contexts_[active_id_];
    auto const charge =
        reason == Reason::too_slow ? std::max(context.used, context.budget) : context.used;
    context.end = context.start + charge;
    adapt(context, reason);
    active_ = false;
    timeout_ = idle_until_ = never;
    if (!context.waiting.empty()) enqueue(context);
    if (contexts_.size() <= contexts_kept) return;
    // Contexts that are per request would be kept for ever.
    std::erase_if(contexts_, [](auto const& entry) {
        return !entry.second.queued && entry.second.in_drive == 0 && entry.second.waiting.empty();
    });
}

// ---- requests
// ------------------------------------------------------------------------------------

bool Bfq::is_worth_idling() const {
    auto const& context = contexts_.at(active_id_);
    return active_id_ != asynchronous && context.lives && context.habits.worth_idling();
}

// Upwards from the last position; from the beginning when nothing is above. Nothing: what is left
// of the budget is not enough for it.
std::optional<BlockRequest> Bfq::take(Context& context) {
    auto chosen = context.waiting.lower_bound(position_);
    if (chosen == context.waiting.end()) chosen = context.waiting.begin();
    auto const charge = charge_of(chosen->second);
    if (context.used > 0 && context.used + charge > context.budget) return {};
    auto const request = chosen->second;
    context.waiting.erase(chosen);
    ++context.in_drive;
    context.used += charge;
    virtual_time_ += charge / static_cast<double>(queued_ + 1);
    position_ = request.command.end();
    return request;
}

std::optional<BlockRequest> Bfq::next(Time now) {
    if (!flushes_.empty()) {
        auto const request = flushes_.front();
        flushes_.pop_front();
        return request;
    }
    if (active_ && now >= timeout_) expire(Reason::too_slow);
    if (active_ && now >= idle_until_) expire(Reason::idle);
    for (;;) {
        if (!active_ && !activate_next(now)) return {};
        auto& context = contexts_[active_id_];
        if (!context.waiting.empty()) {
            if (auto request = take(context)) return request;
            expire(Reason::exhausted);
            continue;
        }
        bool const idle = is_worth_idling();
        if (idle && (context.in_drive > 0 || idle_until_ != never)) return {};
        if (idle) {
            idle_until_ = now + slice_idle;
            return {};
        }
        expire(Reason::idle);
    }
}

void Bfq::finished(Time now, BlockRequest const& request) {
    if (request.command.operation == Operation::flush) return;
    auto& context = contexts_[context_of(request)];
    --context.in_drive;
    context.habits.served(now);
}

Time Bfq::next_event() const {
    if (!active_) return never;
    // When the time is over others may go, if there are any.
    bool const others = queued_ > 0 || !contexts_.at(active_id_).waiting.empty();
    return std::min(others ? timeout_ : never, idle_until_);
}

}  // namespace unisono::testbed
