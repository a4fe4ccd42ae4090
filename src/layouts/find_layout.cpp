#include "layouts/find_layout.hpp"

#include <array>
#include <cstdio>

#include "layouts/providers.hpp"

namespace unisono {
namespace {

// In the order in which they are asked.
constexpr std::array table{
    &environment_layouts, &pocket_layouts, &ceph_layouts, &lustre_layouts, &beegfs_layouts,
    &orangefs_layouts,    &gpfs_layouts,   &hint_layouts, &local_layouts,
};

}  // namespace

std::span<Provider const* const> all_providers() { return table; }

Layout find_layout(FileProbe const& probe, Options const& options) {
    for (auto const* provider : table)
        if (auto layout = provider->find(probe, options)) return std::move(*layout);
    std::array<char, 64> reason{};
    std::snprintf(reason.data(), reason.size(), "no provider for file system type 0x%x",
                  probe.magic);
    return Layout::unknown("none", reason.data());
}

Layout find_layout(int descriptor, FileSystemFacts const& known, Options const& options) {
    return find_layout(FileProbe::of(descriptor, known), options);
}

Layout find_layout(int descriptor, Options const& options) {
    return find_layout(FileProbe::of(descriptor), options);
}

}  // namespace unisono
