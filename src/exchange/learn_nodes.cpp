#include "exchange/learn_nodes.hpp"

#include <algorithm>

namespace unisono {

NodeFacts facts_of_own_node(std::string const& name) {
    NodeFacts own{.machine = read_machine()};
    std::copy_n(name.begin(), std::min(name.size(), own.name.size() - 1), own.name.begin());
    return own;
}

void describe_nodes(Topology& topology, std::span<NodeFacts const> nodes) {
    topology.machine = nodes.front().machine;
    topology.names.clear();
    for (auto const& node : nodes) {
        topology.names.emplace_back(node.name.data());
        topology.machine = {std::min(topology.machine.nics, node.machine.nics),
                            std::min(topology.machine.numa_nodes, node.machine.numa_nodes)};
    }
}

void learn_nodes(Team& team, Topology& topology, std::string const& own_name) {
    auto const own = facts_of_own_node(own_name);
    auto const all = team.gather_values(std::span{&own, 1});
    std::vector<NodeFacts> nodes;
    for (auto const& ranks : topology.ranks_of) nodes.push_back(all[ranks[0]]);
    describe_nodes(topology, nodes);
}

}  // namespace unisono
