#include "simulated/links.hpp"

#include <algorithm>

namespace unisono::simulated {

std::shared_ptr<Crossing> Links::send(double now_s, std::uint32_t from, std::uint32_t to,
                                      std::uint64_t bytes) {
    auto crossing = std::make_shared<Crossing>(Crossing{.bytes = static_cast<double>(bytes)});
    auto const begins_s = std::max(now_s, out_free_s_[from]);
    out_free_s_[from] = begins_s + crossing->bytes / network_.bytes_per_s;
    crossing->reaches_s = begins_s + network_.latency_s;
    in_[to].coming.emplace(crossing->reaches_s, crossing);
    return crossing;
}

// All that reach the link up to then have been sent: what is sent from now on needs the latency.
double Links::arrival(Crossing const& crossing, std::uint32_t to) {
    auto& [free_s, coming] = in_[to];
    while (!crossing.arrives_s) {
        auto const next = coming.begin();
        auto& [reaches_s, message] = *next;
        free_s = std::max(reaches_s, free_s) + message->bytes / network_.bytes_per_s;
        message->arrives_s = free_s;
        coming.erase(next);
    }
    return *crossing.arrives_s;
}

}  // namespace unisono::simulated
