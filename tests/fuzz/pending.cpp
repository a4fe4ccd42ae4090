#include "pending.hpp"

#include <algorithm>

#include "case.hpp"

namespace fuzz {

Touched::Touched(Access const& access, View const& view) {
    if (!access.takes_part || access.bytes() == 0) return;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    view.for_each_extent(
        access.offset * view.etype_bytes(), access.bytes(),
        [&](auto offset, auto, auto bytes) { all.emplace_back(offset, offset + bytes); });
    std::sort(all.begin(), all.end());
    for (auto const& extent : all) {
        if (!extents_.empty() && extent.first <= extents_.back().second)
            extents_.back().second = std::max(extents_.back().second, extent.second);
        else
            extents_.push_back(extent);
    }
}

Touched Touched::range_of(std::vector<Touched> const& all) {
    Touched range;
    for (auto const& one : all) {
        if (one.extents_.empty()) continue;
        auto const [begin, end] = std::pair{one.extents_.front().first, one.extents_.back().second};
        if (range.extents_.empty()) range.extents_.emplace_back(begin, end);
        auto& [first, last] = range.extents_[0];
        first = std::min(first, begin);
        last = std::max(last, end);
    }
    return range;
}

bool Touched::meets(Touched const& other) const {
    auto mine = extents_.begin();
    auto theirs = other.extents_.begin();
    while (mine != extents_.end() && theirs != other.extents_.end()) {
        if (mine->second <= theirs->first)
            ++mine;
        else if (theirs->second <= mine->first)
            ++theirs;
        else
            return true;
    }
    return false;
}

void note_sieving(FileState& file, Touched const& sieved, PendingAccess* own) {
    for (auto& [id, other] : file.pending)
        for (std::size_t m = 0; m < other.accesses.size() && &other != own; ++m)
            if (other.accesses[m].writes && sieved.meets(other.touched[m]))
                other.conflicting[m] = true;
}

bool is_sieved(FileState const& file, Touched const& touched, PendingAccess const* own) {
    return std::ranges::any_of(file.pending, [&](auto const& entry) {
        return &entry.second != own && touched.meets(entry.second.sieved);
    });
}

void note_conflicts(FileState& file, Access const& access, Touched const& touched,
                    PendingAccess* own, std::size_t own_member) {
    for (auto& [id, other] : file.pending) {
        if (&other == own) continue;
        for (std::size_t m = 0; m < other.accesses.size(); ++m) {
            if (!other.accesses[m].takes_part || !touched.meets(other.touched[m])) continue;
            if (access.writes) other.conflicting[m] = true;
            if (own != nullptr && other.accesses[m].writes) own->conflicting[own_member] = true;
        }
    }
}

}  // namespace fuzz
