#include "simulated/links.hpp"

#include <algorithm>
#include <bit>

namespace unisono::simulated {
namespace {

// Of a tree of `count` ranks.
double steps(std::uint32_t count) { return std::bit_width(count - 1); }

double doubling_steps(std::uint32_t count) {
    return std::has_single_bit(count) ? steps(count) : steps(count) + 1;
}

}  // namespace

double CollectiveCost::merge_s(std::uint64_t bytes_a_step, std::uint64_t bytes) const {
    auto const within_s = 2 * steps(ranks_of_node) * network.message_s;
    auto const crossing_s = network.latency_s + network.message_s +
                            static_cast<double>(bytes_a_step) / network.bytes_per_s;
    auto const between = nodes == 1 ? 0 : doubling_steps(nodes);
    return within_s + between * crossing_s + static_cast<double>(bytes) / network.bytes_per_s;
}

double CollectiveCost::alltoall_s(std::uint64_t bytes) const {
    auto const within = steps(ranks_of_node);
    auto const between = steps(nodes) + (within > 0 && nodes > 1 ? 1 : 0);
    auto const half_of_all = static_cast<double>(bytes) * nodes * ranks_of_node / 2;
    auto const crossing_s = network.latency_s + network.message_s;
    return within * network.message_s + between * crossing_s +
           steps(nodes) * half_of_all * ranks_of_node / network.bytes_per_s;
}

std::shared_ptr<Crossing> Links::send(double now_s, std::size_t from, std::size_t to,
                                      std::uint64_t bytes, double pause_s) {
    auto crossing = std::make_shared<Crossing>(
        Crossing{.bytes = static_cast<double>(bytes), .pause_s = is_server(to) ? pause_s : 0});
    auto const begins_s = std::max(now_s, out_free_s_[from]) + (is_server(from) ? pause_s : 0);
    out_free_s_[from] = begins_s + crossing->bytes / bytes_per_s(from);
    crossing->reaches_s = begins_s + network_.latency_s;
    crossing->sent_s = out_free_s_[from] + network_.latency_s;
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
        message->arrives_s = std::max(free_s, message->sent_s);
        coming.erase(next);
    }
    return *crossing.arrives_s;
}

}  // namespace unisono::simulated
