#include <algorithm>
#include <numeric>
#include <queue>

#include "strategies/aggregators.hpp"
#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {
namespace {

using Bytes = std::uint64_t;

// `count` aggregators for servers that have so many bytes each: at least one for each server with
// any, the next one always to where an aggregator has most to do, ties to the lowest server. Needs
// count >= servers with any. Cost: O(count * log servers).
std::vector<std::uint32_t> apportion(std::vector<Bytes> const& server_bytes, std::size_t count) {
    std::vector<std::uint32_t> shares;
    shares.reserve(server_bytes.size());
    std::priority_queue<std::pair<double, std::uint32_t>> busiest;  // bytes for each; ~server
    for (auto const bytes : server_bytes) {
        auto const server = static_cast<std::uint32_t>(shares.size());
        if (bytes > 0) busiest.emplace(static_cast<double>(bytes), ~server);
        shares.push_back(bytes > 0 ? 1 : 0);
    }
    if (busiest.empty()) return shares;
    for (auto left = count - busiest.size(); left > 0; --left) {
        auto const server = ~busiest.top().second;
        busiest.pop();
        ++shares[server];
        busiest.emplace(static_cast<double>(server_bytes[server]) / shares[server], ~server);
    }
    return shares;
}

// Many aggregators to one server: each has its own contiguous range of that server's object.
//   server 0's object   |--- a0 ---|--- a1 ---|      server 1's   |--- a2 ---|--- a3 ---|
void share_servers(Plan& plan, std::vector<Realm> const& servers,
                   std::vector<Bytes> const& server_bytes, std::vector<std::uint32_t> const& ranks,
                   std::uint64_t unit) {
    auto next = ranks.begin();
    auto const shares = apportion(server_bytes, ranks.size());
    for (std::size_t server = 0; server < servers.size(); ++server) {
        if (shares[server] == 0) continue;
        for (auto const& realm : split_evenly(servers[server], shares[server], unit)) {
            plan.aggregators.push_back(*next++);
            plan.realms.push_back(realm);
        }
    }
}

// One aggregator to many servers: adjacent ones, about equally many bytes for each aggregator. A
// round accesses a window on each of them, so that all are busy.
void gather_servers(Plan& plan, std::vector<Realm> const& servers,
                    std::vector<Bytes> const& server_bytes,
                    std::vector<std::uint32_t> const& ranks) {
    auto const all = std::accumulate(server_bytes.begin(), server_bytes.end(), Bytes{0});
    Bytes before = 0;
    for (std::size_t server = 0; server < servers.size(); ++server) {
        if (server_bytes[server] == 0) continue;
        auto const middle =
            static_cast<double>(before) + static_cast<double>(server_bytes[server]) / 2;
        auto const index = static_cast<std::size_t>(middle / static_cast<double>(all) *
                                                    static_cast<double>(ranks.size()));
        plan.aggregators.push_back(ranks[std::min(index, ranks.size() - 1)]);
        plan.realms.push_back(servers[server]);
        before += server_bytes[server];
    }
}

// Realms follow the physical layout. One to one, with two servers:
//   stripes   | 0 | 1 | 0 | 1 | 0 | 1 |
//   a0        |===|   |===|   |===|        one aggregator per server, contiguous in its object
//   a1            |===|   |===|   |===|
// Differs (section III): what "considering the ratio" means when it is no whole number is ours, see
// apportion() and gather_servers(); bytes are those of the touched range, holes included; windows
// are packed with what is asked for.
Plan plan_lacio(Facts const& facts, Options const& options) {
    Plan plan{.way = Plan::Way::staged, .window_bytes = window_bytes(facts, options)};
    auto const ranks = choose_aggregators_of_call(facts, options);
    std::vector<Realm> servers;
    std::vector<Bytes> server_bytes;
    for (std::uint32_t server = 0; server < facts.layout->servers(); ++server) {
        servers.push_back(facts.layout->bytes_of(server, facts.touched));
        server_bytes.push_back(servers.back().bytes());
    }
    auto const busy =
        servers.size() - static_cast<std::size_t>(std::ranges::count(server_bytes, 0));
    if (ranks.size() >= busy)
        share_servers(plan, servers, server_bytes, ranks, cut_unit(facts, options));
    else
        gather_servers(plan, servers, server_bytes, ranks);
    return plan;
}

}  // namespace

constinit Strategy const lacio{
    .name = "lacio",
    .summary = "file realms by the physical layout, for any ratio of aggregators to servers",
    .source = "LACIO (Chen, Sun, Thakur, Roth, Gropp, IPDPS 2011), section III",
    .unfit = unfit_for_servers,
    .plan = plan_lacio,
    .worth_measuring = has_several_servers,
};

}  // namespace unisono
