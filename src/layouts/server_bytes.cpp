#include "layouts/server_bytes.hpp"

#include <algorithm>

namespace unisono {

void add_server_bytes(std::vector<std::uint64_t>& bytes, Layout const& layout, Extent extent) {
    if (!layout.known()) return;
    bytes.resize(std::max<std::size_t>(bytes.size(), layout.servers()));
    while (!extent.empty()) {
        auto const end = std::min(extent.end, layout.unit_end(extent.begin));
        bytes[layout.server_of(extent.begin)] += end - extent.begin;
        extent.begin = end;
    }
}

}  // namespace unisono
