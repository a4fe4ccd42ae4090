#include "unisono/layout.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "layouts/clip.hpp"
#include "support/text.hpp"

namespace unisono {
namespace {

// Beyond what any file system has, but far from where 64-bit arithmetic ends.
constexpr std::uint64_t unit_most = std::uint64_t{1} << 40;
constexpr std::uint64_t period_most = std::uint64_t{1} << 61;
constexpr std::uint64_t offset_most = std::uint64_t{1} << 62;
constexpr std::size_t table_most = 1 << 16;
constexpr std::size_t stripings_most = 64;

std::uint64_t period_of(Striping const& striping) {
    return striping.object_bytes * striping.servers.size();
}

std::string problem_of(Striping const& striping) {
    if (striping.unit == 0 || striping.unit > unit_most)
        return "stripe unit " + std::to_string(striping.unit);
    if (striping.object_bytes == 0 || striping.object_bytes % striping.unit != 0)
        return "object size " + std::to_string(striping.object_bytes) +
               ", not a multiple of the stripe unit";
    if (striping.servers.empty()) return {};
    auto const count = striping.servers.size();
    if (count > table_most) return std::to_string(count) + " stripes";
    if (std::ranges::max(striping.servers) >= table_most) return "server number out of range";
    if (striping.width == 0 || count % striping.width != 0)
        return "stripe count " + std::to_string(striping.width);
    if (striping.object_bytes > period_most / count) return "object size too large";
    return {};
}

std::string problem_of(std::vector<Striping> const& stripings) {
    if (stripings.empty()) return "no component";
    if (stripings.size() > stripings_most) return "too many components";
    std::uint64_t begin = 0;
    for (auto const& striping : stripings) {
        if (auto problem = problem_of(striping); !problem.empty()) return problem;
        if (striping.end <= begin) return "components out of order";
        begin = striping.end;
    }
    return begin == Striping::no_end ? "" : "no component for the end of the file";
}

/// Of one turn through the table, each server's bytes: index = server.
std::vector<ShapePtr> tiles_of(Striping const& striping, std::uint32_t servers) {
    auto const row_bytes = static_cast<std::int64_t>(striping.unit * striping.width);
    auto const rows = striping.object_bytes / striping.unit;
    std::vector<std::vector<std::int64_t>> offsets(servers);
    std::vector<std::vector<ShapePtr>> shapes(servers);
    for (std::size_t object = 0; object < striping.servers.size(); object += striping.width) {
        std::map<std::uint32_t, std::vector<std::int64_t>> places;
        for (std::uint32_t stripe = 0; stripe < striping.width; ++stripe)
            places[striping.servers[object + stripe]].push_back(
                static_cast<std::int64_t>(stripe * striping.unit));
        for (auto const& [server, units] : places) {
            std::vector<std::uint64_t> const lengths(units.size(), striping.unit);
            offsets[server].push_back(static_cast<std::int64_t>(object * striping.object_bytes));
            shapes[server].push_back(make_repeat(rows, row_bytes, make_blocks(units, lengths)));
        }
    }
    std::vector<ShapePtr> tiles(servers);
    for (std::uint32_t server = 0; server < servers; ++server)
        tiles[server] = make_list(offsets[server], shapes[server]);
    return tiles;
}

}  // namespace

struct Layout::Map {
    struct Part {
        Striping striping;
        std::uint64_t begin = 0;
        std::vector<ShapePtr> tiles;  ///< index = server

        /// The server's bytes as if this striping were the whole file's.
        [[nodiscard]] Tiling tiling(std::uint32_t server) const {
            return {tiles[server], 0, static_cast<std::int64_t>(period_of(striping))};
        }
        [[nodiscard]] std::uint64_t bytes_below(std::uint32_t server, std::uint64_t offset) const {
            return position_of(tiling(server), static_cast<std::int64_t>(offset));
        }
        /// The server's bytes in `range`.
        [[nodiscard]] ShapePtr clipped(std::uint32_t server, Extent range) const {
            auto const period = period_of(striping);
            auto const endless =
                make_repeat(offset_most / period, static_cast<std::int64_t>(period), tiles[server]);
            return clip(endless, static_cast<std::int64_t>(range.begin),
                        static_cast<std::int64_t>(range.end));
        }
    };

    std::vector<Striping> stripings;
    std::vector<Part> parts;  // none when a striping's servers are not known
    std::uint32_t servers = 0;

    [[nodiscard]] std::size_t index_at(std::uint64_t offset) const {
        auto const after = std::ranges::upper_bound(stripings, offset, {}, &Striping::end);
        return std::min(static_cast<std::size_t>(after - stripings.begin()), stripings.size() - 1);
    }
};

Striping Striping::round_robin(std::uint64_t unit, std::vector<std::uint32_t> servers,
                               std::uint64_t end) {
    return {.end = end, .unit = unit, .object_bytes = unit, .servers = std::move(servers)};
}

Layout Layout::unknown(std::string source, std::string reason) {
    Layout layout;
    layout.source = std::move(source);
    layout.reason = std::move(reason);
    return layout;
}

Layout Layout::of(std::string source, std::vector<Striping> stripings, std::string reason) {
    if (auto problem = problem_of(stripings); !problem.empty())
        return unknown(std::move(source), std::move(problem));
    auto map = std::make_shared<Map>();
    auto const complete = std::ranges::none_of(
        stripings, [](Striping const& striping) { return striping.servers.empty(); });
    for (auto& striping : stripings) {
        // Units that follow each other within one object are one unit to everyone.
        if (striping.width == 1) striping.unit = striping.object_bytes;
        if (complete) map->servers = std::max(map->servers, std::ranges::max(striping.servers) + 1);
    }
    std::uint64_t begin = 0;
    for (auto const& striping : stripings) {
        if (!complete) break;
        map->parts.push_back({striping, begin, tiles_of(striping, map->servers)});
        begin = striping.end;
    }
    map->stripings = std::move(stripings);
    auto layout = unknown(std::move(source), std::move(reason));
    layout.map_ = std::move(map);
    return layout;
}

std::uint32_t Layout::servers() const { return map_ ? map_->servers : 0; }

std::span<Striping const> Layout::stripings() const {
    if (!map_) return {};
    return map_->stripings;
}

std::uint32_t Layout::server_of(std::uint64_t offset) const {
    assert(known());
    auto const& striping = map_->stripings[map_->index_at(offset)];
    auto const stripe = offset / striping.unit;
    auto const rows_per_object = striping.object_bytes / striping.unit;
    auto const object_set = stripe / striping.width / rows_per_object;
    auto const object = object_set * striping.width + stripe % striping.width;
    return striping.servers[object % striping.servers.size()];
}

std::uint64_t Layout::object_offset(std::uint64_t offset) const {
    assert(known());
    auto const server = server_of(offset);
    std::uint64_t bytes = 0;
    for (auto const& part : map_->parts) {
        auto const end = std::min(offset, part.striping.end);
        if (end <= part.begin) break;
        bytes += part.bytes_below(server, end) - part.bytes_below(server, part.begin);
    }
    return bytes;
}

std::uint64_t Layout::unit_at(std::uint64_t offset) const {
    return map_ ? map_->stripings[map_->index_at(offset)].unit : 0;
}

std::uint64_t Layout::unit_end(std::uint64_t offset) const {
    assert(map_);
    auto const& striping = map_->stripings[map_->index_at(offset)];
    return std::min(striping.end, round_down(offset, striping.unit) + striping.unit);
}

Realm Layout::bytes_of(std::uint32_t server, Extent range) const {
    assert(known() && server < servers() && range.end <= offset_most);
    if (map_->parts.size() == 1) {
        auto const& part = map_->parts.front();
        if (part.tiles[server]->empty()) return contiguous_realm({});
        return within({part.tiling(server), {0, offset_most}}, range);
    }
    std::vector<ShapePtr> shapes;
    for (auto const& part : map_->parts)
        shapes.push_back(part.clipped(server, intersect(range, {part.begin, part.striping.end})));
    auto const shape = make_list(std::vector<std::int64_t>(shapes.size(), 0), shapes);
    if (shape->empty()) return contiguous_realm({});
    return {{shape, 0, static_cast<std::int64_t>(offset_most)}, {0, shape->bytes}};
}

std::string Layout::describe() const {
    auto const all = stripings();
    std::string text = all.empty() ? "unknown" : "";
    for (auto const& striping : all) {
        text += size_text(striping.unit);
        if (striping.end != Striping::no_end)
            text += " up to " + size_text(striping.end) + ", then ";
    }
    if (servers() == 1) text = "one server";
    if (servers() > 1) text += " over " + std::to_string(servers()) + " servers";
    if (!all.empty() && !known()) text += " units, servers unknown";
    if (all.size() == 1 && all[0].width > 1)
        text += ", " + std::to_string(all[0].width) + " objects of " +
                size_text(all[0].object_bytes) + " in turn";
    auto const separator = source.empty() || reason.empty() ? "" : ": ";
    return text + " (" + source + separator + reason + ")";
}

bool operator==(Layout const& a, Layout const& b) {
    return a.source == b.source && a.reason == b.reason &&
           std::ranges::equal(a.stripings(), b.stripings());
}

}  // namespace unisono
