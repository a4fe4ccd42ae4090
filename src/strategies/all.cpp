#include "strategies/all.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <vector>

namespace unisono {
namespace {

constexpr std::array own{&native, &independent, &two_phase, &disk_first, &resonant,
                         &lacio,  &core_first,  &transpose, &view_based};

std::vector<Strategy const*>& table() {
    static std::vector<Strategy const*> strategies{own.begin(), own.end()};
    return strategies;
}

}  // namespace

std::span<Strategy const* const> all_strategies() { return table(); }

void add_strategy(Strategy const& strategy) {
    assert(find_strategy(strategy.name) == nullptr);
    assert(strategy.unfit != nullptr && strategy.plan != nullptr);
    table().push_back(&strategy);
}

bool is_plugin(Strategy const& strategy) { return std::ranges::find(own, &strategy) == own.end(); }

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
