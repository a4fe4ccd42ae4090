#include "layouts/providers.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t page_bytes = 4096;

Layout in_units(std::uint64_t bytes) {
    return Layout::of("local", {Striping::round_robin(bytes, {0})});
}

std::optional<Layout> find_local(FileProbe const& probe, Options const&) {
    if (!probe.local) return std::nullopt;
    static auto const in_pages = in_units(page_bytes);  // nearly all
    auto const unit = probe.block_bytes != 0 ? probe.block_bytes : page_bytes;
    return unit == page_bytes ? in_pages : in_units(unit);
}

}  // namespace

constinit Provider const local_layouts{"local", find_local};

}  // namespace unisono
