#include "execute/staged/node_windows.hpp"

#include <new>

namespace unisono {

NodeWindows::NodeWindows(Team& team, std::vector<std::uint32_t> const& aggregators,
                         std::uint64_t window_bytes, std::size_t sides, std::uint64_t granule_bytes)
    : window_bytes_{window_bytes}, sides_{sides}, granule_bytes_{granule_bytes} {
    auto const& node_of = team.topology().node_of;
    std::size_t places = 0;
    for (auto const rank : aggregators) {
        auto const here = node_of[rank] == node_of[team.rank()];
        place_.push_back(here ? places++ : elsewhere);
    }
    if (places == 0) return;
    auto const windows_bytes = sides * places * (sizeof(Head) + round_up(window_bytes, 64));
    auto const coverage_bytes = sides * places * Coverage::bytes_needed(window_bytes);
    windows_ = team.node_memory(Team::Area::windows, windows_bytes).data();
    coverage_ = team.node_memory(Team::Area::coverage, coverage_bytes).data();
    shared_ = windows_ != nullptr && coverage_ != nullptr;
    if (shared_) return;
    if (!team.carries_messages()) {
        missing_ = true;
        return;
    }
    try {
        private_windows_.resize(windows_bytes + 64);
        private_coverage_.resize(coverage_bytes);
    } catch (std::bad_alloc const&) {
        missing_ = true;
        return;
    }
    auto const misalignment = reinterpret_cast<std::uintptr_t>(private_windows_.data()) % 64;
    windows_ = private_windows_.data() + (64 - misalignment);
    coverage_ = private_coverage_.data();
}

NodeWindows::Head* NodeWindows::head(std::size_t aggregator, int side) const {
    auto const stride = sizeof(Head) + round_up(window_bytes_, 64);
    return std::launder(reinterpret_cast<Head*>(windows_ + index(aggregator, side) * stride));
}

std::uint64_t& NodeWindows::valid_bytes(std::size_t aggregator, int side) const {
    return head(aggregator, side)->valid_bytes;
}

std::byte* NodeWindows::data(std::size_t aggregator, int side) const {
    return reinterpret_cast<std::byte*>(head(aggregator, side)) + sizeof(Head);
}

Coverage NodeWindows::coverage(std::size_t aggregator, int side) const {
    auto* words = coverage_ + index(aggregator, side) * Coverage::bytes_needed(window_bytes_);
    return {reinterpret_cast<Coverage::Word*>(words), granule_bytes_};
}

}  // namespace unisono
