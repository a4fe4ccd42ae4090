#include "exchange/learn_nodes.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace unisono {

void learn_nodes(Team& team, Topology& topology, std::string const& own_name) {
    struct Node {
        Machine machine = read_machine();
        std::array<char, 72> name{};
    } mine;
    std::copy_n(own_name.begin(), std::min(own_name.size(), mine.name.size() - 1),
                mine.name.begin());
    auto const all = team.gather_values(std::span<Node const>{&mine, 1});
    topology.machine = mine.machine;
    topology.names.clear();
    for (auto const& ranks : topology.ranks_of) {
        auto const& node = all[ranks[0]];
        topology.names.emplace_back(node.name.data());
        topology.machine = {std::min(topology.machine.nics, node.machine.nics),
                            std::min(topology.machine.numa_nodes, node.machine.numa_nodes)};
    }
}

}  // namespace unisono
