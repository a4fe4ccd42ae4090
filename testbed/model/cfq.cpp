#include "model/cfq.hpp"

#include <algorithm>

namespace unisono::testbed {

namespace {

constexpr Time slice_sync = 100 * millisecond;
constexpr Time slice_async = 40 * millisecond;
constexpr int quantum = 4;
constexpr std::size_t seek_contexts_kept = 1024;

}  // namespace

std::uint64_t Cfq::context_of(BlockRequest const& request) {
    return request.synchronous ? request.context : asynchronous;
}

void Cfq::add(Time now, BlockRequest const& request) {
    if (request.command.operation == Operation::flush) {
        flushes_.push_back(request);
        return;
    }
    auto const id = context_of(request);
    auto& context = contexts_[id];
    context.habits.sent(now, request.command);
    context.lives = request.context_lives;
    context.waiting.emplace(request.command.sector, request);
    if (active_ && active_id_ == id) {
        idle_until_ = never;
    } else if (!context.queued) {
        context.queued = true;
        turns_.push_back(id);
    }
}

bool Cfq::worth_idling(std::uint64_t id) const {
    if (id == asynchronous) return false;
    auto const& context = contexts_.at(id);
    return context.lives && context.habits.worth_idling();
}

void Cfq::expire() {
    active_ = false;
    idle_until_ = never;
    auto& context = contexts_[active_id_];
    if (!context.waiting.empty() && !context.queued) {
        context.queued = true;
        turns_.push_back(active_id_);
    }
    if (contexts_.size() <= seek_contexts_kept) return;
    // Contexts that are per request would be kept for ever.
    std::erase_if(contexts_, [](auto const& entry) {
        return !entry.second.queued && entry.second.in_drive == 0 && entry.second.waiting.empty();
    });
}

bool Cfq::activate_next(Time now) {
    if (turns_.empty()) return false;
    active_id_ = turns_.front();
    turns_.pop_front();
    contexts_[active_id_].queued = false;
    active_ = true;
    slice_end_ = now + (active_id_ == asynchronous ? slice_async : slice_sync);
    idle_until_ = never;
    return true;
}

// Upwards from the last position; from the beginning when nothing is above.
BlockRequest Cfq::take(Context& context) {
    auto chosen = context.waiting.lower_bound(position_);
    if (chosen == context.waiting.end()) chosen = context.waiting.begin();
    auto const request = chosen->second;
    context.waiting.erase(chosen);
    ++context.in_drive;
    position_ = request.command.end();
    return request;
}

std::optional<BlockRequest> Cfq::next(Time now) {
    if (!flushes_.empty()) {
        auto const request = flushes_.front();
        flushes_.pop_front();
        return request;
    }
    if (active_ && (now >= slice_end_ || now >= idle_until_)) expire();
    for (;;) {
        if (!active_ && !activate_next(now)) return {};
        auto& context = contexts_[active_id_];
        if (!context.waiting.empty()) {
            if (context.in_drive >= quantum) return {};
            return take(context);
        }
        bool const idle = worth_idling(active_id_);
        if (idle && (context.in_drive > 0 || idle_until_ != never)) return {};
        if (idle && now < slice_end_) {
            idle_until_ = std::min(now + slice_idle, slice_end_);
            return {};
        }
        expire();
    }
}

void Cfq::finished(Time now, BlockRequest const& request) {
    if (request.command.operation == Operation::flush) return;
    auto& context = contexts_[context_of(request)];
    --context.in_drive;
    context.habits.served(now);
}

Time Cfq::next_event() const {
    if (!active_) return never;
    auto const& context = contexts_.at(active_id_);
    // At the end of the slice others may go, if there are any.
    Time const slice = turns_.empty() && context.waiting.empty() ? never : slice_end_;
    return std::min(slice, idle_until_);
}

}  // namespace unisono::testbed
