#include "layouts/find_layout.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::optional<Layout> find_local(FileProbe const& probe, Options const&) {
    if (!probe.local) return std::nullopt;
    return local_layout(probe.block_bytes != 0 ? probe.block_bytes : page_bytes);
}

}  // namespace

Layout local_layout(std::uint64_t unit_bytes) {
    auto const in_units = [](std::uint64_t bytes) {
        return Layout::of("local", {Striping::round_robin(bytes, {0})});
    };
    static auto const in_pages = in_units(page_bytes);  // nearly all
    return unit_bytes == page_bytes ? in_pages : in_units(unit_bytes);
}

constinit Provider const local_layouts{"local", find_local};

}  // namespace unisono
