// Prints one line per strategy: name, summary, source, separated by tabs.
// --draw NAME: what a strategy's plans look like, by examples.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "strategies/all.hpp"
#include "strategies/plugins.hpp"
#include "strategies/show.hpp"

namespace {

int draw(char const* name) {
    auto const text = unisono::draw_examples(name);
    if (text.empty()) std::fprintf(stderr, "unisono-strategies: no picture of %s\n", name);
    return text.empty() || std::fputs(text.c_str(), stdout) < 0;
}

int list() {
    if (auto const* paths = secure_getenv("UNISONO_PLUGINS"))
        for (auto const& message : unisono::load_plugins(paths))
            std::fprintf(stderr, "%s\n", message.c_str());
    return std::fputs(unisono::list_strategies().c_str(), stdout) < 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 1) return list();
    if (count == 3 && std::string_view{arguments[1]} == "--draw") return draw(arguments[2]);
    std::fputs("usage: unisono-strategies [--draw NAME]\n", stderr);
    return 2;
}
