#include "execute/staged/expected_data.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "unisono/extent.hpp"

namespace unisono {

std::uint64_t ExpectedData::learn(Ranks const& ranks, RoundSchedule ahead, std::uint64_t also) {
    constexpr std::size_t windows_most = 64 * 1024;
    forget_all_but_last();
    aggregators_ = ahead.aggregators();
    auto const first = ahead.rounds_taken();
    auto const count =
        std::min(ahead.rounds() - first,
                 std::max<std::uint64_t>(windows_most / std::max<std::size_t>(aggregators_, 1), 1));
    std::vector<std::uint64_t> learnt;
    for (std::uint64_t i = 0; i < count; ++i) {
        auto const round = ahead.next();
        for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator)
            learnt.push_back(ranks.bytes_for(round, aggregator));
    }
    auto const messages = std::ranges::count_if(learnt, [](auto bytes) { return bytes != 0; });
    learnt.push_back(static_cast<std::uint64_t>(messages));
    learnt.push_back(also);
    ranks.team.sum(learnt, ranks.among);
    also = learnt.back();
    learnt.pop_back();
    auto const all_messages = learnt.back();
    learnt.pop_back();
    auto const all_bytes = std::accumulate(learnt.begin(), learnt.end(), std::uint64_t{0});
    mean_message_bytes_ = all_messages == 0 ? 0 : all_bytes / all_messages;
    bytes_.insert(bytes_.end(), learnt.begin(), learnt.end());
    rounds_ += count;
    return also;
}

void ExpectedData::forget_all_but_last() {
    if (rounds_ == 0) return;
    bytes_.erase(bytes_.begin(), bytes_.end() - static_cast<std::ptrdiff_t>(aggregators_));
    first_round_ += std::exchange(rounds_, 1) - 1;
}

}  // namespace unisono
