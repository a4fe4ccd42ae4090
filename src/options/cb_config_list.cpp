#include "options/cb_config_list.hpp"

#include <algorithm>
#include <cassert>

#include "support/text.hpp"

namespace unisono {
namespace {

std::optional<AggregatorLimit> parse_entry(std::string_view entry) {
    auto const colon = entry.find(':');
    AggregatorLimit limit{.host = std::string(trim(entry.substr(0, colon)))};
    if (limit.host.empty()) return std::nullopt;
    if (colon == std::string_view::npos) return limit;

    auto const most = trim(entry.substr(colon + 1));
    if (most == "*") {
        limit.most = AggregatorLimit::all;
        return limit;
    }
    auto const number = parse_count(most);
    if (!number) return std::nullopt;
    limit.most = *number;
    return limit;
}

}  // namespace

std::optional<std::vector<AggregatorLimit>> parse_cb_config_list(std::string_view text) {
    std::vector<AggregatorLimit> limits;
    for (auto const entry : split(text, ',')) {
        auto limit = parse_entry(entry);
        if (!limit) return std::nullopt;
        limits.push_back(std::move(*limit));
    }
    return limits;
}

std::vector<std::uint32_t> aggregators_per_node(std::span<AggregatorLimit const> limits,
                                                std::span<std::string const> node_names,
                                                std::span<std::uint32_t const> ranks_per_node) {
    assert(node_names.size() == ranks_per_node.size());
    std::vector<std::uint32_t> aggregators(node_names.size(), 0);
    for (std::size_t node = 0; node < node_names.size(); ++node) {
        auto const match = std::ranges::find_if(limits, [&](AggregatorLimit const& limit) {
            return limit.host == "*" || limit.host == node_names[node];
        });
        if (match != limits.end()) aggregators[node] = std::min(match->most, ranks_per_node[node]);
    }
    return aggregators;
}

}  // namespace unisono
