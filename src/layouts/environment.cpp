#include "layouts/layout_text.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

std::optional<Layout> find_environment(FileProbe const&, Options const& options) {
    if (options.layout.empty()) return std::nullopt;
    return parse_layout(options.layout, options.layout_named);
}

}  // namespace

constinit Provider const environment_layouts{"environment", find_environment};

}  // namespace unisono
