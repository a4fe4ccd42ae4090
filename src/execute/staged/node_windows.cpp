#include "execute/staged/node_windows.hpp"

#include <new>

#include "exchange/node_memory.hpp"

namespace unisono {

NodeWindows::NodeWindows(Team& team, std::vector<std::uint32_t> const& aggregators,
                         std::uint64_t window_bytes, std::size_t sides, std::uint64_t granule_bytes)
    : window_bytes_{window_bytes},
      stride_{round_up(window_bytes, alignment_for(window_bytes))},
      sides_{sides},
      granule_bytes_{granule_bytes} {
    auto const& node_of = team.topology().node_of;
    std::size_t places = 0;
    for (auto const rank : aggregators) {
        auto const here = node_of[rank] == node_of[team.rank()];
        place_.push_back(here ? places++ : elsewhere);
    }
    if (places == 0) return;
    auto const windows_bytes = sides * places * (sizeof(Head) + stride_);
    auto const coverage_bytes = sides * places * Coverage::bytes_needed(window_bytes);
    windows_ = team.node_memory(Team::Area::windows, windows_bytes).data();
    coverage_ = team.node_memory(Team::Area::coverage, coverage_bytes).data();
    shared_ = windows_ != nullptr && coverage_ != nullptr;
    if (!shared_) take_private_memory(team, windows_bytes, coverage_bytes);
    heads_ = windows_ == nullptr ? nullptr : windows_ + sides * places * stride_;
}

void NodeWindows::take_private_memory(Team const& team, std::uint64_t windows_bytes,
                                      std::uint64_t coverage_bytes) {
    windows_ = nullptr;
    auto const alignment = alignment_for(window_bytes_);
    if (!team.carries_messages()) {
        missing_ = true;
        return;
    }
    try {
        private_windows_.resize(windows_bytes + alignment);
        private_coverage_.resize(coverage_bytes);
    } catch (std::bad_alloc const&) {
        missing_ = true;
        return;
    }
    auto const misalignment = reinterpret_cast<std::uintptr_t>(private_windows_.data()) % alignment;
    windows_ = private_windows_.data() + (alignment - misalignment);
    coverage_ = private_coverage_.data();
}

NodeWindows::Head* NodeWindows::head(std::size_t aggregator, int side) const {
    return std::launder(reinterpret_cast<Head*>(heads_ + index(aggregator, side) * sizeof(Head)));
}

std::uint64_t& NodeWindows::valid_bytes(std::size_t aggregator, int side) const {
    return head(aggregator, side)->valid_bytes;
}

std::byte* NodeWindows::data(std::size_t aggregator, int side) const {
    return windows_ + index(aggregator, side) * stride_;
}

Coverage NodeWindows::coverage(std::size_t aggregator, int side) const {
    auto* words = coverage_ + index(aggregator, side) * Coverage::bytes_needed(window_bytes_);
    return {reinterpret_cast<Coverage::Word*>(words), granule_bytes_};
}

}  // namespace unisono
