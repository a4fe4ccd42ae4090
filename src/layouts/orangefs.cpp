#include <numeric>

#include "layouts/field_reader.hpp"
#include "layouts/magic.hpp"
#include "layouts/parsers.hpp"
#include "layouts/providers.hpp"
#include "unisono/extent.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t handle_bytes = 8;
constexpr std::uint64_t name_bytes_most = 32;

std::optional<Layout> find_orangefs(FileProbe const& probe, Options const&) {
    if (probe.magic != magic::orangefs) return std::nullopt;
    auto const distribution = probe.attribute("system.pvfs2.md");
    auto const handles = probe.attribute("system.pvfs2.dh");
    if (!distribution || !handles)
        return Layout::unknown("orangefs", "system.pvfs2.md and .dh cannot be read");
    return parse_orangefs_layout(*distribution, *handles);
}

}  // namespace

// A distribution is its name (length, characters, zero, padding to 8 bytes), then its parameters.
Layout parse_orangefs_layout(std::span<std::byte const> distribution,
                             std::span<std::byte const> handles) {
    FieldReader fields(distribution);
    auto const name_bytes = fields.number32(0);
    std::string name;
    for (std::uint64_t i = 0; i < name_bytes && i < name_bytes_most && fields.intact(); ++i)
        name += static_cast<char>(fields.number(4 + i, 1));
    auto const parameters = round_up(4 + std::uint64_t{name_bytes} + 1, 8);
    auto const unit = fields.number(parameters, 8);
    if (!fields.intact()) return Layout::unknown("orangefs", "distribution is cut off");
    if (name != "simple_stripe") return Layout::unknown("orangefs", "distribution " + name);
    if (handles.empty() || handles.size() % handle_bytes != 0)
        return Layout::unknown("orangefs", "list of data files is cut off");

    std::vector<std::uint32_t> servers(handles.size() / handle_bytes);
    std::iota(servers.begin(), servers.end(), 0);
    return Layout::of("orangefs", {Striping::round_robin(unit, std::move(servers))});
}

constinit Provider const orangefs_layouts{"orangefs", find_orangefs};

}  // namespace unisono
