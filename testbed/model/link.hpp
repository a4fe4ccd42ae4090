#pragma once

#include <cstdint>

#include "model/sector_set.hpp"
#include "model/time.hpp"

namespace unisono::testbed {

/// When a message's first byte leaves a link, and when its last one has left.
struct Passage {
    Time begin = 0;
    Time end = 0;
};

/// One direction of a network interface. A message takes what is idle of it: who may begin earlier
/// does not wait for what is known already of later messages, and these go on where it lets them.
class Link {
public:
    explicit Link(double mb_s = 0) : mb_s_(mb_s) {}

    /// A message that may begin at `earliest`. Cost: O(log messages that are remembered) and those
    /// that it goes around.
    Passage occupy(Time earliest, std::uint64_t bytes);

    [[nodiscard]] Time duration(std::uint64_t bytes) const { return transfer_time(bytes, mb_s_); }

private:
    double mb_s_;
    SectorSet busy_;               // nanoseconds
    std::uint64_t idle_from_ = 0;  // before it everything counts as busy
};

/// A message through two links; the second begins to receive when the first begins to send, one
/// latency later (cut-through). Many senders to one receiver queue there, without loss.
/// @return when it has arrived
Time transfer(Link& from, Link& to, Time latency, Time now, std::uint64_t bytes);

}  // namespace unisono::testbed
