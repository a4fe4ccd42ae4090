// Prints one line per strategy: name, summary, source, separated by tabs.
#include <cstdio>
#include <cstdlib>

#include "strategies/all.hpp"
#include "strategies/plugins.hpp"

int main() {
    if (auto const* paths = std::getenv("UNISONO_PLUGINS"))
        for (auto const& message : unisono::load_plugins(paths))
            std::fprintf(stderr, "%s\n", message.c_str());
    return std::fputs(unisono::list_strategies().c_str(), stdout) < 0;
}
