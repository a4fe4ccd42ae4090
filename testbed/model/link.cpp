#include "model/link.hpp"

#include <algorithm>

namespace unisono::testbed {

Time Link::occupy(Time earliest, std::uint64_t bytes) {
    free_ = std::max(earliest, free_) + transfer_time(bytes, mb_s_);
    bytes_ += bytes;
    return free_;
}

Time transfer(Link& from, Link& to, Time latency, Time now, std::uint64_t bytes) {
    Time const sent = from.occupy(now, bytes);
    Time const first_byte = sent - from.duration(bytes) + latency;
    return std::max(to.occupy(first_byte, bytes), sent + latency);
}

}  // namespace unisono::testbed
