#pragma once

#include <cstdint>

#include "model/time.hpp"

namespace unisono::testbed {

/// One direction of a network interface: sends one message after another.
class Link {
public:
    explicit Link(double mb_s = 0) : mb_s_(mb_s) {}

    /// When the last byte has left, if it may begin at `earliest`.
    Time occupy(Time earliest, std::uint64_t bytes);

    [[nodiscard]] Time duration(std::uint64_t bytes) const { return transfer_time(bytes, mb_s_); }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    double mb_s_;
    Time free_ = 0;
    std::uint64_t bytes_ = 0;
};

/// A message through two links; the second begins to receive when the first begins to send, one
/// latency later (cut-through). Many senders to one receiver queue there, without loss.
/// @return when it has arrived
Time transfer(Link& from, Link& to, Time latency, Time now, std::uint64_t bytes);

}  // namespace unisono::testbed
