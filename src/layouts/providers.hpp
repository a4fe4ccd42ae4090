#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "layouts/file_probe.hpp"
#include "unisono/layout.hpp"
#include "unisono/options.hpp"

namespace unisono {

/// A source of layouts.
struct Provider {
    std::string_view name;
    /// Nothing: it does not concern this file, ask the next one. An unknown layout: it does, but
    /// cannot be read, and nobody else is asked.
    std::optional<Layout> (*find)(FileProbe const& probe, Options const& options);
};

extern Provider const environment_layouts;  ///< UNISONO_LAYOUT and the hint unisono_layout
extern Provider const pocket_layouts;       ///< the testbed's file system
extern Provider const ceph_layouts;
extern Provider const lustre_layouts;
extern Provider const beegfs_layouts;
extern Provider const orangefs_layouts;
extern Provider const gpfs_layouts;
extern Provider const hint_layouts;   ///< striping_unit and striping_factor
extern Provider const local_layouts;  ///< one server

/// In the order in which they are asked.
std::span<Provider const* const> all_providers();

/// find_layout() for a file that answers through `probe`.
Layout find_layout(FileProbe const& probe, Options const& options);

}  // namespace unisono
