#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

/// One entry of the hint cb_config_list: at most `most` aggregators on the node `host`.
struct AggregatorLimit {
    static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

    std::string host;  ///< as MPI_Get_processor_name says it, or "*": every node not yet named
    std::uint32_t most = 1;  ///< `all`: every rank of the node

    friend bool operator==(AggregatorLimit const&, AggregatorLimit const&) = default;
};

/// Reads "host:N,host,*:M" (N a number, 0 allowed, or "*"; without it 1), the grammar of ROMIO's
/// user's guide. Nothing if the text is malformed.
std::optional<std::vector<AggregatorLimit>> parse_cb_config_list(std::string_view text);

/// How many aggregators each node gets: index = node, never more than its ranks. For every node
/// the leftmost matching entry counts; a node that none matches gets 0.
std::vector<std::uint32_t> aggregators_per_node(std::span<AggregatorLimit const> limits,
                                                std::span<std::string const> node_names,
                                                std::span<std::uint32_t const> ranks_per_node);

}  // namespace unisono
