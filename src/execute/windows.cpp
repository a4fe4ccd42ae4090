#include "execute/windows.hpp"

#include <algorithm>

#include "access/copy.hpp"
#include "unisono/result.hpp"

namespace unisono {

Windows::Windows(std::span<Realm const> realms, std::uint64_t window_bytes)
    : realms_{realms}, windows_(realms.size()), parts_(realms.size()) {
    std::uint64_t largest_bytes = 1;
    for (auto const& realm : realms) {
        next_.push_back(realm.positions.begin);
        if (realm.empty()) continue;
        largest_bytes = std::max(largest_bytes, realm.bytes());
        alignment_ |= alignment_of(realm.tiling, realm.positions);
    }
    bytes_max_ = std::min(window_bytes, largest_bytes);
    alignment_ |= bytes_max_;
    rounds_ = div_ceil(largest_bytes, bytes_max_);
}

std::vector<std::uint64_t> Windows::next_offsets() const {
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i < realms_.size(); ++i)
        offsets.push_back(next_[i] >= realms_[i].positions.end
                              ? IoResult::nowhere
                              : static_cast<std::uint64_t>(offset_of(realms_[i].tiling, next_[i])));
    return offsets;
}

void Windows::skip_to(std::span<std::uint64_t const> offsets) {
    for (std::size_t i = 0; i < realms_.size(); ++i) {
        auto const& [tiling, positions] = realms_[i];
        auto const wanted = offsets[i] == IoResult::nowhere
                                ? positions.end
                                : position_of(tiling, static_cast<std::int64_t>(offsets[i]));
        next_[i] = std::clamp(wanted, next_[i], std::max(next_[i], positions.end));
    }
}

Positions Windows::next_window(std::size_t aggregator) const {
    auto const begin = next_[aggregator];
    return intersect({begin, begin + bytes_max_}, realms_[aggregator].positions);
}

void Windows::find_parts(std::size_t aggregator, Positions window, std::vector<Part>& parts) const {
    parts.clear();
    if (window.empty()) return;
    std::uint64_t at = 0;
    walk(realms_[aggregator].tiling, window, [&](std::int64_t offset, std::uint64_t bytes) {
        auto const begin = static_cast<std::uint64_t>(offset);
        parts.push_back({{begin, begin + bytes}, at});
        at += bytes;
    });
}

std::vector<Windows::Part> Windows::next_parts(std::size_t aggregator) const {
    std::vector<Part> parts;
    find_parts(aggregator, next_window(aggregator), parts);
    return parts;
}

bool Windows::advance() {
    bool any = false;
    for (std::size_t i = 0; i < realms_.size(); ++i) {
        windows_[i] = next_window(i);
        find_parts(i, windows_[i], parts_[i]);
        if (windows_[i].empty()) continue;
        any = true;
        next_[i] = windows_[i].end;
    }
    return any;
}

bool Windows::meets(std::size_t aggregator, Extent range) const {
    auto const& parts = parts_[aggregator];
    auto const first = std::partition_point(
        parts.begin(), parts.end(), [&](Part const& part) { return part.file.end <= range.begin; });
    return first != parts.end() && !intersect(first->file, range).empty();
}

}  // namespace unisono
