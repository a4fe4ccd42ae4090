#include "report/recording.hpp"

#include <algorithm>

#include "report/shape_text.hpp"

namespace unisono {
namespace {

constexpr std::size_t bytes_of_an_entry = 24;  // of an index list, as text
constexpr std::size_t known_at_most = 16;

using Calls = Recording::Calls;

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
    return static_cast<std::int64_t>(to - from);
}

bool alike(Calls const& a, Calls const& b) {
    return a.kind == b.kind && a.view == b.view && a.bytes == b.bytes;
}

// Makes `next` one more of `before` where it is a step further.
bool continues(Calls& before, Calls const& next) {
    if (!alike(before, next)) return false;
    if (before.count == 1) {
        before.origin_step = next.origin - before.origin;
        before.first_step = distance(before.first, next.first);
    }
    auto const steps = static_cast<std::int64_t>(before.count);
    if (next.origin - before.origin != steps * before.origin_step ||
        distance(before.first, next.first) != steps * before.first_step)
        return false;
    ++before.count;
    return true;
}

}  // namespace

void Recording::keep(std::uint32_t rank, std::size_t bytes_at_most, std::string opened_for) {
    bytes_at_most_ = bytes_at_most;
    access = std::move(opened_for);
    by_rank = {{.rank = rank}};
}

bool Recording::take_room(std::size_t bytes) {
    if (full_ || bytes > bytes_at_most_ - bytes_used_) {
        full_ = true;
        return false;
    }
    bytes_used_ += bytes;
    return true;
}

std::uint32_t const* Recording::number_of(Tiling const& view) {
    for (auto const& known : known_)
        if (known.shape == view.shape && known.extent == view.extent) return &known.number;
    View described{shape_text(*view.shape, (bytes_at_most_ - bytes_used_) / bytes_of_an_entry),
                   view.extent};
    if (described.shape.empty()) {
        full_ = true;
        return nullptr;
    }
    auto& views = by_rank.front().views;
    auto const same = std::ranges::find(views, described);
    auto const number = static_cast<std::uint32_t>(same - views.begin());
    if (same == views.end()) {
        if (!take_room(sizeof(View) + described.shape.size())) return nullptr;
        views.push_back(std::move(described));
    }
    if (known_.size() == known_at_most) known_.erase(known_.begin());
    known_.push_back({view.shape, view.extent, number});
    return &known_.back().number;
}

void Recording::append(Calls const& call) {
    auto& track = by_rank.front();
    if (!full_ && !track.calls.empty() && continues(track.calls.back(), call)) return;
    if (take_room(sizeof call))
        track.calls.push_back(call);
    else
        ++track.left_out;
}

void Recording::add(Direction direction, Tiling const& view, Positions positions) {
    if (!kept()) return;
    auto const* const number = full_ ? nullptr : number_of(view);
    if (number == nullptr) return add_unknown();
    auto const kind = direction == Direction::read ? RecordedKind::read : RecordedKind::write;
    append({.kind = kind,
            .view = *number,
            .origin = view.origin,
            .first = positions.begin,
            .bytes = positions.bytes()});
}

void Recording::add_sync() {
    if (kept()) append({.kind = RecordedKind::sync});
}

void Recording::add_unknown() {
    if (!kept()) return;
    full_ = true;
    ++by_rank.front().left_out;
}

void Recording::merge(Recording const& other) {
    by_rank.insert(by_rank.end(), other.by_rank.begin(), other.by_rank.end());
    std::ranges::stable_sort(by_rank, {}, &Track::rank);
}

std::size_t recording_bytes_at_most(std::uint64_t ranks, std::uint64_t earlier_files) {
    constexpr std::uint64_t of_a_file = 32 << 20;
    constexpr std::uint64_t of_a_rank = 1 << 20;
    constexpr std::uint64_t files = 8;  // from here on less and less of each
    constexpr std::uint64_t least = 4096;
    auto const alone = std::min(of_a_rank, of_a_file / std::max<std::uint64_t>(1, ranks));
    return std::max(least, alone / (1 + earlier_files / files));
}

}  // namespace unisono
