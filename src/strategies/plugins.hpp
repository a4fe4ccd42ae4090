#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "unisono/plugin.hpp"

namespace unisono {

/// Adds the strategies of shared objects (paths separated by colons, each exporting a Plugin) to
/// all_strategies(). They stay loaded until the process ends. Call it before strategies are used;
/// not thread-safe.
/// @return one message for each that cannot be used; the others are.
std::vector<std::string> load_plugins(std::string_view paths);

/// Why that cannot be used; empty: it can.
std::string what_is_wrong(Plugin const& plugin);

}  // namespace unisono
