#include "execute/staged/expected_messages.hpp"

#include <algorithm>

#include "unisono/extent.hpp"

namespace unisono {

std::uint64_t ExpectedMessages::learn(Ranks const& ranks, RoundSchedule ahead, std::uint64_t also) {
    constexpr std::size_t windows_most = 64 * 1024;
    aggregators_ = ahead.aggregators();
    first_round_ = ahead.rounds_taken();
    rounds_ =
        std::min(ahead.rounds() - first_round_,
                 std::max<std::uint64_t>(windows_most / std::max<std::size_t>(aggregators_, 1), 1));
    auto const windows = rounds_ * aggregators_;
    sends_.assign(div_ceil(windows, 64), 0);
    come_.assign(windows, 0);
    std::vector<bool> sends_to;
    for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator)
        sends_to.push_back(ranks.sends_to(aggregator));
    for (std::size_t first = 0; first < windows; first += aggregators_) {
        auto const round = ahead.next();
        for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator)
            if ((sends_to[aggregator] || ranks.node_aggregated) &&
                ranks.has_bytes_in(round, aggregator))
                sends_[(first + aggregator) / 64] |= std::uint64_t{1} << (first + aggregator) % 64;
    }
    if (ranks.node_aggregated) ranks.team.unite(sends_, Team::Among::node);
    for (std::size_t window = 0; window < windows; ++window) {
        auto& word = sends_[window / 64];
        auto const bit = std::uint64_t{1} << window % 64;
        if (!sends_to[window % aggregators_]) word &= ~bit;
        come_[window] = (word & bit) != 0 ? 1 : 0;
    }
    come_.push_back(also);
    ranks.team.sum(come_, ranks.among);
    return come_.back();
}

}  // namespace unisono
