#include "strategies/plugins.hpp"

#include <dlfcn.h>

#include "strategies/all.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

// Empty: it is there from now on.
std::string load(std::string const& path) {
    auto* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return dlerror();
    auto const* const plugin = static_cast<Plugin const*>(dlsym(library, "unisono_plugin"));
    if (plugin == nullptr) return path + ": it exports no unisono_plugin";
    if (auto const why = what_is_wrong(*plugin); !why.empty()) return path + ": " + why;
    add_strategy(plugin->strategy);
    return {};
}

}  // namespace

std::string what_is_wrong(Plugin const& plugin) {
    if (plugin.version != Plugin::current_version || plugin.facts_bytes != sizeof(Facts) ||
        plugin.plan_bytes != sizeof(Plan) || plugin.options_bytes != sizeof(Options) ||
        plugin.strategy_bytes != sizeof(Strategy))
        return "it was built for another version of Unisono";
    auto const& strategy = plugin.strategy;
    if (strategy.name.empty() || strategy.unfit == nullptr || strategy.plan == nullptr)
        return "its strategy has no name, no unfit or no plan";
    if (strategy.name == "auto" || find_strategy(strategy.name) != nullptr)
        return "there is a strategy " + std::string{strategy.name} + " already";
    return {};
}

std::vector<std::string> load_plugins(std::string_view paths) {
    std::vector<std::string> messages;
    for (auto const path : split(paths, ':')) {
        if (path.empty()) continue;
        if (auto const why = load(std::string{path}); !why.empty())
            messages.push_back("unisono: plug-in not used: " + why);
    }
    return messages;
}

}  // namespace unisono
