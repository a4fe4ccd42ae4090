#include "model/deadline.hpp"

#include <algorithm>

namespace unisono::testbed {

namespace {

constexpr std::array<Time, 2> expire{500 * millisecond, 5 * second};
constexpr int writes_starved = 2;

}  // namespace

std::multimap<std::uint64_t, Deadline::Queued>::iterator Deadline::Queue::oldest() {
    return std::min_element(by_sector.begin(), by_sector.end(), [](auto const& a, auto const& b) {
        return a.second.deadline < b.second.deadline;
    });
}

void Deadline::add(Time now, BlockRequest const& request) {
    if (request.command.operation == Operation::flush) {
        flushes_.push_back(request);
        return;
    }
    std::size_t const direction = request.command.operation == Operation::write ? 1 : 0;
    queues_[direction].by_sector.emplace(request.command.sector,
                                         Queued{request, now + expire[direction]});
}

std::size_t Deadline::choose_direction() {
    bool const reads = !queues_[0].by_sector.empty();
    bool const writes = !queues_[1].by_sector.empty();
    if (reads && !(writes && starved_ >= writes_starved)) {
        if (writes) ++starved_;
        return 0;
    }
    starved_ = 0;
    return 1;
}

std::optional<BlockRequest> Deadline::next(Time now) {
    if (!flushes_.empty()) {
        auto const request = flushes_.front();
        flushes_.pop_front();
        return request;
    }
    if (queues_[0].by_sector.empty() && queues_[1].by_sector.empty()) return {};

    auto* queue = &queues_[direction_];
    auto chosen = queue->by_sector.lower_bound(next_sector_);
    bool const batch_goes_on = batch_ < fifo_batch && chosen != queue->by_sector.end();
    if (!batch_goes_on) {
        direction_ = choose_direction();
        batch_ = 0;
        queue = &queues_[direction_];
        chosen = queue->by_sector.lower_bound(next_sector_);
        auto const oldest = queue->oldest();
        if (chosen == queue->by_sector.end() || oldest->second.deadline <= now) chosen = oldest;
    }
    ++batch_;
    auto const request = chosen->second.request;
    next_sector_ = request.command.end();
    queue->by_sector.erase(chosen);
    return request;
}

}  // namespace unisono::testbed
