#include "layouts/layout_text.hpp"
#include "layouts/magic.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

// Only on FUSE: elsewhere it may be a copy that came along with a file.
std::optional<Layout> find_pocket(FileProbe const& probe, Options const&) {
    if (probe.magic != magic::fuse) return std::nullopt;
    auto const attribute = text_attribute(probe, "user.pocketfs.layout");
    if (!attribute) return std::nullopt;
    return parse_layout(*attribute, "pocketfs");
}

}  // namespace

constinit Provider const pocket_layouts{"pocketfs", find_pocket};

}  // namespace unisono
