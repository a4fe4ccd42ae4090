#include "layouts/striping_note.hpp"

#include <algorithm>

#include "support/text.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t large_file_bytes = 256 << 20;
constexpr std::uint64_t small_unit_bytes = 16 << 10;

}  // namespace

std::string striping_note(Layout const& layout, std::uint64_t file_bytes, std::uint32_t ranks) {
    auto const servers = layout.servers();
    if (servers == 0 || layout.source == "local" || ranks < 2 || file_bytes < large_file_bytes)
        return {};
    if (servers == 1)
        return "striping hurts: all of the file is on one data server; give striping_factor for "
               "the next one, or stripe its folder";
    auto const unit = layout.unit_at(0);
    auto const used = std::min<std::uint64_t>(servers, div_ceil(file_bytes, unit));
    if (2 * used <= servers)
        return "striping hurts: stripes of " + size_text(unit) + " put the file on " +
               std::to_string(used) + " of " + std::to_string(servers) +
               " data servers; give a smaller striping_unit for the next one";
    if (unit < small_unit_bytes)
        return "striping hurts: stripes of " + size_text(unit) +
               " cut every access into many requests; give a larger striping_unit for the next "
               "file";
    return {};
}

}  // namespace unisono
