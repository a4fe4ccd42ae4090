#include "model/sector_set.hpp"

#include <algorithm>

namespace unisono::testbed {

void SectorSet::add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto run = runs_.upper_bound(begin);
    if (run != runs_.begin() && std::prev(run)->second >= begin) --run;
    while (run != runs_.end() && run->first <= end) {
        begin = std::min(begin, run->first);
        end = std::max(end, run->second);
        sectors_ -= run->second - run->first;
        run = runs_.erase(run);
    }
    runs_.emplace(begin, end);
    sectors_ += end - begin;
}

void SectorSet::remove(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto run = runs_.upper_bound(begin);
    if (run != runs_.begin() && std::prev(run)->second > begin) --run;
    while (run != runs_.end() && run->first < end) {
        auto const [run_begin, run_end] = *run;
        run = runs_.erase(run);
        sectors_ -= std::min(end, run_end) - std::max(begin, run_begin);
        if (run_begin < begin) runs_.emplace(run_begin, begin);
        if (run_end > end) run = runs_.emplace(end, run_end).first;
    }
}

bool SectorSet::contains(std::uint64_t begin, std::uint64_t end) const {
    auto const run = runs_.upper_bound(begin);
    return run != runs_.begin() && std::prev(run)->second >= end;
}

}  // namespace unisono::testbed
