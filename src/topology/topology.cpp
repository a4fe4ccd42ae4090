#include "unisono/topology.hpp"

#include <unordered_map>

namespace unisono {

Topology make_topology(std::vector<std::uint32_t> const& label_of) {
    Topology topology;
    std::unordered_map<std::uint32_t, std::uint32_t> node_with;  // label -> node
    for (std::uint32_t rank = 0; rank < label_of.size(); ++rank) {
        auto const [entry, is_new] = node_with.try_emplace(label_of[rank], topology.nodes());
        if (is_new) topology.ranks_of.emplace_back();
        topology.node_of.push_back(entry->second);
        topology.ranks_of[entry->second].push_back(rank);
    }
    return topology;
}

}  // namespace unisono
