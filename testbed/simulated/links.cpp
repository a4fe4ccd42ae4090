#include "simulated/links.hpp"

#include <algorithm>

namespace unisono::simulated {

std::shared_ptr<Crossing> Links::send(double now_s, std::size_t from, std::size_t to,
                                      std::uint64_t bytes, double pause_s) {
    auto crossing = std::make_shared<Crossing>(
        Crossing{.bytes = static_cast<double>(bytes), .pause_s = is_server(to) ? pause_s : 0});
    auto const begins_s = std::max(now_s, out_free_s_[from]) + (is_server(from) ? pause_s : 0);
    out_free_s_[from] = begins_s + crossing->bytes / bytes_per_s(from);
    crossing->reaches_s = begins_s + network_.latency_s;
    in_[to].coming.emplace(crossing->reaches_s, crossing);
    return crossing;
}

// All that reach the link up to then have been sent: what is sent from now on needs the latency.
double Links::arrival(Crossing const& crossing, std::size_t to) {
    auto& [free_s, coming] = in_[to];
    while (!crossing.arrives_s) {
        auto const next = coming.begin();
        auto& [reaches_s, message] = *next;
        free_s = std::max(reaches_s, free_s) + message->pause_s + message->bytes / bytes_per_s(to);
        message->arrives_s = free_s;
        coming.erase(next);
    }
    return *crossing.arrives_s;
}

}  // namespace unisono::simulated
