#include <numeric>

#include "layouts/layout_text.hpp"
#include "layouts/providers.hpp"

namespace unisono {
namespace {

// Hints speak of new files: for a file that exists already they are only a user's word.
std::optional<Layout> find_hints(FileProbe const&, Options const& options) {
    auto const unit = options.striping_unit;
    auto const count = options.striping_factor;
    if (unit == 0 && count == 0) return std::nullopt;
    if (unit == 0) return Layout::unknown("hints", "striping_factor without striping_unit");
    if (count > servers_most) return Layout::unknown("hints", "striping_factor is too large");
    std::vector<std::uint32_t> servers(count);
    std::iota(servers.begin(), servers.end(), 0);
    return Layout::of("hints", {Striping::round_robin(unit, std::move(servers))},
                      count == 0 ? "striping_unit without striping_factor" : "");
}

}  // namespace

constinit Provider const hint_layouts{"hints", find_hints};

}  // namespace unisono
