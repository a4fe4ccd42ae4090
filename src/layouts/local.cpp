#include "layouts/providers.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::optional<Layout> find_local(FileProbe const& probe, Options const&) {
    if (!probe.local) return std::nullopt;
    auto const unit = probe.block_bytes != 0 ? probe.block_bytes : page_bytes;
    return Layout::of("local", {Striping::round_robin(unit, {0})});
}

}  // namespace

constinit Provider const local_layouts{"local", find_local};

}  // namespace unisono
