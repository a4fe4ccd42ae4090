#include "report/timeline.hpp"

#include "support/clock.hpp"

namespace unisono {

void Laps::sum_up() {
    if (summed_up_) return;
    summed_up_ = true;
    auto const each = laps_;
    auto const count = std::exchange(count_, std::uint8_t{0});
    for (auto const& lap : std::span{each}.first(count)) add_to_sum(lap);
}

// There are fewer phases than `most`.
void Laps::add_to_sum(Lap lap) {
    for (auto& known : std::span{laps_}.first(count_)) {
        if (known.phase != lap.phase) continue;
        known.seconds += lap.seconds;
        return;
    }
    assert(count_ < most);
    laps_[count_++] = lap;
}

void Laps::merge(Laps const& other) {
    sum_up();
    for (auto const& lap : other.get()) add_to_sum(lap);
}

void CallsInTime::merge(CallsInTime const& next) {
    end_s = std::max(end_s, next.end_s);
    count += next.count;
    bytes += next.bytes;
    laps.merge(next.laps);
}

void AccessesInTime::merge(AccessesInTime const& next) {
    end_s = std::max(end_s, next.end_s);
    count += next.count;
    bytes += next.bytes;
    touched = hull(touched, next.touched);
}

std::size_t timeline_entries_at_most(std::uint64_t ranks, std::uint64_t earlier_files) {
    constexpr std::uint64_t of_a_file = 1 << 16;
    constexpr std::uint64_t of_a_rank = 2048;
    constexpr std::uint64_t files = 8;  // from here on less and less of each
    constexpr std::uint64_t least = 4;
    auto const alone = std::min(of_a_rank, of_a_file / std::max<std::uint64_t>(1, ranks));
    return std::max(least, alone / (1 + earlier_files / files));
}

double since_epoch(double steady_s) {
    static double const distance_s = wall_clock_s() - steady_clock_s();
    return steady_s + distance_s;
}

}  // namespace unisono
