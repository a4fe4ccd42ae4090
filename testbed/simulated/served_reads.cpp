#include "simulated/served_reads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unisono::simulated {
namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();
// Clocks of seconds and of nanoseconds agree to within this.
constexpr double instant_s = 2e-9;
// Where the file begins on each disk; nothing is at its very edge.
constexpr std::uint64_t first_byte = 1 << 30;

}  // namespace

ServedReads::ServedReads(ServersModel const& model, Network const& network, std::size_t nodes,
                         Links& links, double begun_s, std::function<void(std::uint32_t)> wake)
    : model_{model},
      latency_s_{network.latency_s},
      nodes_{nodes},
      links_{links},
      begun_s_{begun_s},
      wake_{std::move(wake)} {
    auto options = model.options;
    for (std::uint32_t server = 0; server < network.servers; ++server, ++options.seed)
        servers_.push_back(std::make_unique<testbed::Server>(model.profile, options));
}

void ServedReads::begin(double now_s, std::size_t node, std::uint32_t server, Extent object,
                        std::shared_ptr<Reads> reads) {
    auto const served = settle(now_s);
    auto const id = next_id_++;
    auto const rank = reads->rank;
    under_way_[id] = {node, server, object.bytes(), std::move(reads), {}};
    servers_[server]->submit(time_of(now_s + latency_s_),
                             {.id = id,
                              .operation = testbed::Operation::read,
                              .address = first_byte + object.begin,
                              .bytes = object.bytes(),
                              .readable_after = model_.object_bytes - object.end,
                              .at_start = object.begin == 0,
                              .file = 1,
                              .process = rank,
                              .client = rank});
    wake(served);
}

// To wake a rank lets it run, and ask for more: only when all else is done.
double ServedReads::go_on(double now_s) {
    wake(settle(now_s));
    return next_s();
}

// Who has all that it asked for.
std::vector<std::uint32_t> ServedReads::settle(double now_s) {
    auto const due_s = now_s + instant_s;
    std::vector<testbed::Finished> finished;
    for (auto const& server : servers_) server->advance(time_of(due_s), finished);
    std::ranges::sort(finished, {}, &testbed::Finished::time);
    for (auto const& one : finished) answer(now_s, one.id);
    for (; !reach_.empty() && reach_.begin()->first <= due_s; reach_.erase(reach_.begin())) {
        auto const id = reach_.begin()->second;
        auto const& read = under_way_.at(id);
        arrive_.emplace(links_.arrival(*read.crossing, read.node), id);
    }
    std::vector<std::uint32_t> served;
    for (; !arrive_.empty() && arrive_.begin()->first <= due_s; arrive_.erase(arrive_.begin())) {
        auto const read = under_way_.extract(arrive_.begin()->second);
        auto const& reads = read.mapped().reads;
        if (--reads->left == 0 && reads->waits) served.push_back(reads->rank);
    }
    return served;
}

void ServedReads::wake(std::vector<std::uint32_t> const& ranks) {
    for (auto const rank : ranks) wake_(rank);
}

testbed::Time ServedReads::time_of(double now_s) const {
    return static_cast<testbed::Time>(std::llround((now_s - begun_s_) * 1e9));
}

void ServedReads::answer(double now_s, std::uint64_t id) {
    auto& read = under_way_.at(id);
    read.crossing = links_.send(now_s, nodes_ + read.server, read.node, read.bytes);
    reach_.emplace(read.crossing->reaches_s, id);
}

double ServedReads::next_s() const {
    auto next = never_s;
    for (auto const& server : servers_)
        if (auto const event = server->next_event(); event != testbed::never)
            next = std::min(next, begun_s_ + static_cast<double>(event) * 1e-9);
    if (!reach_.empty()) next = std::min(next, reach_.begin()->first);
    if (!arrive_.empty()) next = std::min(next, arrive_.begin()->first);
    return next;
}

ServedReads::Counts ServedReads::counts() const {
    Counts all;
    for (auto const& server : servers_) {
        all.reads += server->counters().reads;
        all.ascending += server->counters().ascending;
        all.block_requests += server->counters().block_requests;
        all.media_accesses += server->drive_counters().media_accesses;
        all.positioning_s += static_cast<double>(server->drive_counters().positioning_ns) * 1e-9;
    }
    return all;
}

}  // namespace unisono::simulated
