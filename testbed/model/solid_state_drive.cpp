#include "model/solid_state_drive.hpp"

#include <algorithm>
#include <cassert>

#include "model/geometry.hpp"

namespace unisono::testbed {

SolidStateDrive::SolidStateDrive(DriveProfile const& profile)
    : profile_(profile),
      channel_free_(std::max<std::size_t>(1, static_cast<std::size_t>(profile.channels))),
      interface_(profile.interface_mb_s) {}

std::uint32_t SolidStateDrive::free_slots() const {
    return static_cast<std::uint32_t>(profile_.queue_depth) -
           static_cast<std::uint32_t>(under_way_.size());
}

Time SolidStateDrive::latency_of(Operation operation) const {
    switch (operation) {
        case Operation::read:
            return from_us(profile_.read_us);
        case Operation::write:
            return from_us(profile_.write_us);
        default:
            return from_us(profile_.flush_us);
    }
}

void SolidStateDrive::submit(Time now, Command const& command) {
    assert(free_slots() > 0);
    ++counters_.commands;
    ++counters_.media_accesses;
    auto const channel = std::min_element(channel_free_.begin(), channel_free_.end());
    Time const read =
        std::max(now + from_ms(profile_.overhead_ms), *channel) + latency_of(command.operation);
    *channel = read;
    under_way_.push({command.id, interface_.occupy(read, command.sectors * sector_bytes).end});
}

Time SolidStateDrive::next_event() const {
    return under_way_.empty() ? never : under_way_.top().time;
}

void SolidStateDrive::advance(Time until, std::vector<Finished>& finished) {
    for (; next_event() <= until; under_way_.pop()) finished.push_back(under_way_.top());
}

}  // namespace unisono::testbed
