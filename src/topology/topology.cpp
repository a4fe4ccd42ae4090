#include "unisono/topology.hpp"

#include <algorithm>

namespace unisono {

Topology make_topology(std::vector<std::uint32_t> const& label_of) {
    Topology topology;
    std::vector<std::uint32_t> labels;  // node -> label
    for (std::uint32_t rank = 0; rank < label_of.size(); ++rank) {
        auto const known = std::find(labels.begin(), labels.end(), label_of[rank]);
        auto const node = static_cast<std::uint32_t>(known - labels.begin());
        if (known == labels.end()) {
            labels.push_back(label_of[rank]);
            topology.ranks_of.emplace_back();
        }
        topology.node_of.push_back(node);
        topology.ranks_of[node].push_back(rank);
    }
    return topology;
}

}  // namespace unisono
