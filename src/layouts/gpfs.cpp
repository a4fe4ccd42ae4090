#include "layouts/magic.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

std::optional<Layout> find_gpfs(FileProbe const& probe, Options const&) {
    if (probe.magic != magic::gpfs) return std::nullopt;
    return Layout::of("gpfs", {Striping::round_robin(probe.block_bytes, {})},
                      "only the block size can be found out without its library");
}

}  // namespace

constinit Provider const gpfs_layouts{"gpfs", find_gpfs};

}  // namespace unisono
