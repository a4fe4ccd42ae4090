#pragma once

#include <cstdint>

#include "unisono/plan.hpp"

namespace unisono {

/// What a shared object named in UNISONO_PLUGINS defines as `unisono_plugin`, declared below. Build
/// it with the headers of the Unisono that will load it: the sizes say whether it was.
struct Plugin {
    static constexpr std::uint32_t current_version = 3;

    std::uint32_t version = current_version;
    std::uint32_t facts_bytes = sizeof(Facts);
    std::uint32_t plan_bytes = sizeof(Plan);
    std::uint32_t options_bytes = sizeof(Options);
    std::uint32_t strategy_bytes = sizeof(Strategy);
    Strategy strategy;
};

}  // namespace unisono

extern "C" __attribute__((visibility("default"))) unisono::Plugin const unisono_plugin;
