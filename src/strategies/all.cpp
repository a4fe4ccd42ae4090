#include "strategies/all.hpp"

#include <array>
#include <string>

namespace unisono {
namespace {

constexpr std::array<Strategy const*, 8> table{
    &native, &independent, &two_phase, &disk_first, &resonant, &lacio, &core_first, &transpose,
};

}  // namespace

std::span<Strategy const* const> all_strategies() { return table; }

Strategy const* find_strategy(std::string_view name) {
    for (auto const* strategy : table)
        if (strategy->name == name) return strategy;
    return nullptr;
}

std::string list_strategies() {
    std::string text;
    for (auto const* strategy : table)
        text += std::string{strategy->name} + "\t" + std::string{strategy->summary} + "\t" +
                std::string{strategy->source} + "\n";
    return text;
}

}  // namespace unisono
