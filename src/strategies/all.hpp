#pragma once

#include <span>
#include <string>
#include <string_view>

#include "unisono/plan.hpp"

namespace unisono {

extern Strategy const native;
extern Strategy const independent;
extern Strategy const two_phase;
extern Strategy const disk_first;
extern Strategy const resonant;
extern Strategy const lacio;
extern Strategy const core_first;
extern Strategy const transpose;
extern Strategy const view_based;

/// Every strategy. Adding one: a file beside this one, its declaration above, its line in all.cpp.
std::span<Strategy const* const> all_strategies();

/// One from outside (a plug-in's), of a name that none has; it must stay where it is.
void add_strategy(Strategy const& strategy);
/// It came from outside: nobody has tried its plans.
bool is_plugin(Strategy const& strategy);

/// Null when there is none of that name.
Strategy const* find_strategy(std::string_view name);

/// One line per strategy: name, summary, source, separated by tabs.
std::string list_strategies();

}  // namespace unisono
