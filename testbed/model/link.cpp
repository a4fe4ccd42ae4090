#include "model/link.hpp"

#include <algorithm>
#include <iterator>

namespace unisono::testbed {

namespace {

// Of times that are long over nobody asks.
constexpr std::size_t runs_max = 256;

}  // namespace

Passage Link::occupy(Time earliest, std::uint64_t bytes) {
    auto const& runs = busy_.runs();
    auto begin = std::max(static_cast<std::uint64_t>(earliest), idle_from_);
    auto next = runs.upper_bound(begin);
    if (next != runs.begin()) begin = std::max(begin, std::prev(next)->second);
    auto left = static_cast<std::uint64_t>(duration(bytes));
    auto at = begin;
    for (; next != runs.end() && at + left > next->first; ++next) {
        left -= next->first - at;
        at = next->second;
    }
    busy_.add(begin, at + left);
    for (; runs.size() > runs_max; busy_.remove(runs.begin()->first, idle_from_))
        idle_from_ = runs.begin()->second;
    return {static_cast<Time>(begin), static_cast<Time>(at + left)};
}

Time transfer(Link& from, Link& to, Time latency, Time now, std::uint64_t bytes) {
    auto const sent = from.occupy(now, bytes);
    return std::max(to.occupy(sent.begin + latency, bytes).end, sent.end + latency);
}

}  // namespace unisono::testbed
