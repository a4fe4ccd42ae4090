#include "simulated/servers_case.hpp"

#include <numeric>
#include <stdexcept>

#include "explain/pattern.hpp"
#include "model/random.hpp"

namespace unisono::simulated {
namespace {

// Shuffled, the same way in every run.
std::vector<std::uint64_t> shuffled(std::uint64_t count) {
    std::vector<std::uint64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    testbed::Random random{1};
    for (auto left = count; left > 1; --left) std::swap(all[left - 1], all[random.below(left)]);
    return all;
}

std::vector<ScaleCalls> calls_of(ServersCase const& servers) {
    auto const pieces = servers.dealt ? 1 : servers.pieces;
    auto const call_bytes = servers.ranks * pieces * servers.piece_bytes;
    auto const calls = servers.file_bytes / call_bytes;
    if (calls == 0 || servers.file_bytes % call_bytes != 0)
        throw std::invalid_argument{"the file is no whole number of calls of " +
                                    std::to_string(call_bytes) + " bytes"};
    auto const order = servers.dealt ? shuffled(calls * servers.ranks) : shuffled(0);
    std::vector<ScaleCalls> all;
    for (auto const& realm :
         find_pattern("strided")->requests({servers.ranks, servers.piece_bytes, call_bytes})) {
        ScaleCalls its{realm, calls, call_bytes, {}};
        if (servers.dealt) {
            auto const rank = all.size();
            its.first.tiling.origin -= static_cast<std::int64_t>(rank * servers.piece_bytes);
            for (std::uint64_t call = 0; call < calls; ++call)
                its.dealt.push_back(order[call * servers.ranks + rank] * servers.piece_bytes);
        }
        all.push_back(std::move(its));
    }
    return all;
}

}  // namespace

ScaleCase scale_case_of(ServersCase const& servers) {
    auto const& link = servers.profile.link;
    ScaleCase scale;
    scale.ranks = servers.ranks;
    scale.ranks_per_node = servers.ranks_per_node;
    scale.strategy = servers.strategy;
    scale.cb_nodes = servers.cb_nodes;
    scale.cb_buffer_size = servers.cb_buffer_size;
    scale.as_many_groups_as_servers = servers.as_many_groups_as_servers;
    scale.network = {.latency_s = link.latency_us * 1e-6,
                     .bytes_per_s = link.client_mb_s * 1e6,
                     .servers = servers.servers,
                     .server_bytes_per_s = link.server_mb_s * 1e6,
                     .request_s = 0,  // the modelled server's own
                     .stripe_bytes = servers.stripe_bytes};
    scale.servers = ServersModel{.profile = servers.profile,
                                 .options = servers.options,
                                 .object_bytes = servers.file_bytes / servers.servers};
    scale.calls = calls_of(servers);
    return scale;
}

}  // namespace unisono::simulated
