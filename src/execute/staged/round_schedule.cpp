#include "execute/staged/round_schedule.hpp"

#include <algorithm>
#include <cassert>

#include "access/copy.hpp"

namespace unisono {

bool Round::meets(std::size_t aggregator, Extent range) const {
    auto const& own = parts[aggregator];
    auto const first = std::partition_point(
        own.begin(), own.end(), [&](Part const& part) { return part.file.end <= range.begin; });
    return first != own.end() && !intersect(first->file, range).empty();
}

RoundSchedule::RoundSchedule(std::span<Realm const> realms, std::uint64_t window_bytes,
                             std::span<Extent const> wanted, Begin begin)
    : realms_{realms} {
    assert(window_bytes > 0);
    std::vector<std::uint64_t> bytes;
    for (auto const& realm : realms) {
        auto const before = bytes_;
        rests_.push_back(rest_of(realm, wanted));
        bytes.push_back(bytes_ - before);
    }
    auto const largest_bytes = bytes.empty() ? 0 : std::ranges::max(bytes);
    window_bytes_ = std::max<std::uint64_t>(std::min(window_bytes, largest_bytes), 1);
    alignment_ |= window_bytes_;
    rounds_ = div_ceil(largest_bytes, window_bytes_);
    if (begin == Begin::together) return;
    for (std::size_t i = 0; i < rests_.size(); ++i)
        if (auto const windows = div_ceil(bytes[i], window_bytes_); windows > 1)
            begin_later(rests_[i], i % windows);
}

// The first `windows` windows come after the others.
void RoundSchedule::begin_later(Rest& rest, std::uint64_t windows) const {
    auto bytes = windows * window_bytes_;
    auto& intervals = rest.intervals;
    auto cut = intervals.begin();
    for (; bytes >= cut->bytes(); ++cut) bytes -= cut->bytes();
    if (bytes > 0) {
        auto const middle = cut->begin + bytes;
        cut = intervals.insert(cut, {cut->begin, middle}) + 1;
        cut->begin = middle;
    }
    rest.seam = static_cast<std::size_t>(intervals.end() - cut);
    std::rotate(intervals.begin(), cut, intervals.end());
}

RoundSchedule::Rest RoundSchedule::rest_of(Realm const& realm, std::span<Extent const> wanted) {
    Rest rest;
    if (realm.empty()) return rest;
    auto const range = touched(realm);
    auto extent = std::ranges::partition_point(
        wanted, [&](Extent const& one) { return one.end <= range.begin; });
    for (; extent != wanted.end() && extent->begin < range.end; ++extent) {
        auto const part = within(realm, *extent).positions;
        if (part.empty()) continue;
        alignment_ |= alignment_of(realm.tiling, part);
        bytes_ += part.bytes();
        if (!rest.intervals.empty() && rest.intervals.back().end == part.begin)
            rest.intervals.back().end = part.end;
        else
            rest.intervals.push_back(part);
    }
    return rest;
}

Round RoundSchedule::next() {
    assert(any_left());
    Round round{.number = next_round_++, .last = next_round_ == rounds_};
    for (std::size_t i = 0; i < realms_.size(); ++i) round.parts.push_back(next_window(i));
    return round;
}

// Takes so much off what is left.
std::vector<Round::Part> RoundSchedule::next_window(std::size_t aggregator) {
    std::vector<Round::Part> parts;
    auto& [intervals, first, seam] = rests_[aggregator];
    std::uint64_t at = 0;
    while (first < intervals.size() && at < window_bytes_ && (at == 0 || first != seam)) {
        auto& interval = intervals[first];
        Positions const taken{interval.begin,
                              std::min(interval.end, interval.begin + window_bytes_ - at)};
        walk(realms_[aggregator].tiling, taken, [&](std::int64_t offset, std::uint64_t bytes) {
            auto const begin = static_cast<std::uint64_t>(offset);
            parts.push_back({{begin, begin + bytes}, at});
            at += bytes;
        });
        interval.begin = taken.end;
        if (interval.empty()) ++first;
    }
    return parts;
}

}  // namespace unisono
