#include "strategies/all.hpp"

#include <string>
#include <vector>

namespace unisono {
namespace {

std::vector<Strategy const*>& table() {
    static std::vector<Strategy const*> strategies{&native,     &independent, &two_phase,
                                                   &disk_first, &resonant,    &lacio,
                                                   &core_first, &transpose,   &view_based};
    return strategies;
}

}  // namespace

std::span<Strategy const* const> all_strategies() { return table(); }

void add_strategy(Strategy const& strategy) { table().push_back(&strategy); }

Strategy const* find_strategy(std::string_view name) {
    for (auto const* strategy : table())
        if (strategy->name == name) return strategy;
    return nullptr;
}

std::string list_strategies() {
    std::string text;
    for (auto const* strategy : table())
        text += std::string{strategy->name} + "\t" + std::string{strategy->summary} + "\t" +
                std::string{strategy->source} + "\n";
    return text;
}

}  // namespace unisono
