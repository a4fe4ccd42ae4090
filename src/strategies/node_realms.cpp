#include "strategies/node_realms.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "strategies/realms.hpp"

namespace unisono {
namespace {

// Nodes that write to one stripe wait for each other, but where clients take no locks on what they
// write.
bool may_cut_stripes(Facts const& facts) {
    constexpr std::array<std::string_view, 3> without_locks{"beegfs", "orangefs", "pocketfs"};
    return facts.direction == Direction::read ||
           (facts.layout != nullptr &&
            std::ranges::find(without_locks, facts.layout->source) != without_locks.end());
}

std::uint64_t begin_of_cell(Facts const& facts, std::size_t cell) {
    return round_down(facts.touched.begin, facts.cell_bytes) + cell * facts.cell_bytes;
}

// By cell: the node of the aggregator in whose realm it begins. Realms ascend.
std::vector<std::uint32_t> owners_in(Plan const& plan, Facts const& facts) {
    std::vector<std::uint32_t> owners;
    std::size_t realm = 0;
    for (std::size_t cell = 0; cell < facts.cells.size(); ++cell) {
        auto const begin = extent_of_cell(facts, cell).begin;
        while (plan.realms[realm].empty() || touched(plan.realms[realm]).end <= begin) ++realm;
        owners.push_back(facts.topology->node_of[plan.aggregators[realm]]);
    }
    return owners;
}

// What the busiest node's link carries in one direction: file data of the cells that it owns, and
// an even share of what nodes exchange. What is not the holder's in a cell is everybody else's.
std::uint64_t busiest_link_bytes(std::vector<std::uint32_t> const& owners, Facts const& facts) {
    auto const nodes = facts.topology->nodes();
    std::vector<std::uint64_t> file_bytes(nodes);
    std::uint64_t stays_bytes = 0;
    for (std::size_t cell = 0; cell < owners.size(); ++cell) {
        auto const [holder, held_bytes] = facts.cells[cell];
        if (held_bytes == 0) continue;
        auto const bytes = extent_of_cell(facts, cell).bytes();
        file_bytes[owners[cell]] += bytes;
        stays_bytes += owners[cell] == holder ? held_bytes
                                              : (bytes - std::min(bytes, held_bytes)) / (nodes - 1);
    }
    auto const exchanged_bytes = facts.bytes - std::min(facts.bytes, stays_bytes);
    return std::ranges::max(file_bytes) + exchanged_bytes / nodes;
}

// Positions count whole cells, so that realms are cut, and windows end, between them.
std::vector<Realm> cells_by_holder(Facts const& facts) {
    std::vector<std::vector<std::int64_t>> begins(facts.topology->nodes());
    for (std::size_t cell = 0; cell < facts.cells.size(); ++cell)
        if (auto const [node, bytes] = facts.cells[cell]; bytes > 0)
            begins[node].push_back(static_cast<std::int64_t>(begin_of_cell(facts, cell)));
    std::vector<Realm> realms;
    for (auto const& own : begins) {
        auto const shape = make_blocks(own, std::vector(own.size(), facts.cell_bytes));
        realms.push_back(
            within({{shape, 0, std::max<std::int64_t>(shape->high, 1)}, {0, shape->bytes}},
                   facts.touched));
    }
    return realms;
}

}  // namespace

bool may_cut_at_nodes(Facts const& facts, Options const& options) {
    return facts.topology->nodes() > 1 && !facts.local_storage &&
           !pages_must_not_be_shared(facts) && options.cb_nodes == 0 &&
           options.cb_config_list.empty();
}

std::vector<Extent> ranges_of_nodes(Facts const& facts) {
    auto const& topology = *facts.topology;
    auto const equal_parts = facts.rank_ordered && !facts.loops.empty() &&
                             facts.bytes == facts.touched.bytes() &&
                             facts.bytes % topology.ranks() == 0;
    if (!equal_parts) return {};
    auto const part = facts.bytes / topology.ranks();
    std::vector<Extent> ranges;
    for (auto const& ranks : topology.ranks_of) {
        if (ranks.back() - ranks.front() + 1 != ranks.size()) return {};
        auto const begin = facts.touched.begin + ranks.front() * part;
        ranges.push_back({begin, begin + ranks.size() * part});
    }
    return ranges;
}

Extent extent_of_cell(Facts const& facts, std::size_t cell) {
    auto const begin = begin_of_cell(facts, cell);
    return intersect({begin, begin + facts.cell_bytes}, facts.touched);
}

// Two reductions take as long as a fast link takes for a few hundred KiB. Calls that are checked
// are small, and made for finding errors.
std::uint64_t cell_bytes_of_nodes(Facts const& facts, Options const& options) {
    constexpr std::uint64_t cells_most = 4096;
    auto const checked = options.check != "none";
    std::uint64_t const usual_bytes = facts.links == Links::busy ? 16 << 10 : 64 << 10;
    auto const least_bytes = checked ? 64 : usual_bytes;
    std::uint64_t const node_bytes_least = checked ? 1 : 4 << 20;
    if (!may_cut_at_nodes(facts, options) || !ranges_of_nodes(facts).empty()) return 0;
    if (facts.bytes / facts.topology->nodes() < node_bytes_least) return 0;
    auto const unit = may_cut_stripes(facts) ? least_bytes : stripe_unit_to_cut_at(facts);
    if (unit == 0) return 0;
    return round_up(div_ceil(facts.touched.bytes(), cells_most), unit);
}

std::vector<std::uint64_t> bytes_by_cell(std::uint64_t cell_bytes, Extent touched_by_all,
                                         Realm const& request) {
    auto const first = touched_by_all.begin / cell_bytes;
    std::vector<std::uint64_t> bytes(div_ceil(touched_by_all.end, cell_bytes) - first);
    auto rest = request;
    while (!rest.empty()) {
        auto const offset =
            static_cast<std::uint64_t>(offset_of(rest.tiling, rest.positions.begin));
        auto const cell = offset / cell_bytes;
        auto const part = within(rest, {offset, (cell + 1) * cell_bytes});
        bytes[cell - first] = part.bytes();
        rest.positions.begin = part.positions.end;
    }
    return bytes;
}

std::vector<Realm> realms_of_nodes(Facts const& facts, Options const& options, Plan const& even) {
    if (!may_cut_at_nodes(facts, options)) return {};
    if (auto const ranges = ranges_of_nodes(facts); !ranges.empty()) {
        std::vector<Realm> realms;
        std::ranges::transform(ranges, std::back_inserter(realms), contiguous_realm);
        return realms;
    }
    if (facts.cells.empty()) return {};
    std::vector<std::uint32_t> holders;
    for (auto const& cell : facts.cells) holders.push_back(cell.node);
    auto const is_even = busiest_link_bytes(owners_in(even, facts), facts);
    auto const by_holder = busiest_link_bytes(holders, facts);
    // Files are accessed in more and smaller pieces then.
    if (by_holder + by_holder / 4 >= is_even) return {};
    return cells_by_holder(facts);
}

}  // namespace unisono
