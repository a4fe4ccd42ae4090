#include "execute/staged/expected_data.hpp"

#include <algorithm>
#include <numeric>

#include "unisono/extent.hpp"

namespace unisono {

std::uint64_t ExpectedData::learn(Ranks const& ranks, RoundSchedule ahead, std::uint64_t also) {
    constexpr std::size_t windows_most = 64 * 1024;
    aggregators_ = ahead.aggregators();
    first_round_ = ahead.rounds_taken();
    rounds_ =
        std::min(ahead.rounds() - first_round_,
                 std::max<std::uint64_t>(windows_most / std::max<std::size_t>(aggregators_, 1), 1));
    bytes_.clear();
    for (std::uint64_t i = 0; i < rounds_; ++i) {
        auto const round = ahead.next();
        for (std::size_t aggregator = 0; aggregator < aggregators_; ++aggregator)
            bytes_.push_back(ranks.bytes_for(round, aggregator));
    }
    auto const messages = std::ranges::count_if(bytes_, [](auto bytes) { return bytes != 0; });
    bytes_.push_back(static_cast<std::uint64_t>(messages));
    bytes_.push_back(also);
    ranks.team.sum(bytes_, ranks.among);
    also = bytes_.back();
    bytes_.pop_back();
    auto const all_messages = bytes_.back();
    bytes_.pop_back();
    auto const all_bytes = std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0});
    mean_message_bytes_ = all_messages == 0 ? 0 : all_bytes / all_messages;
    return also;
}

}  // namespace unisono
