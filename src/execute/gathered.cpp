#include "execute/gathered.hpp"

#include "access/copy.hpp"
#include "strategies/ask.hpp"
#include "strategies/node_realms.hpp"

namespace unisono {
namespace {

std::vector<std::uint64_t> bytes_by_server(Layout const& layout, Request const& request,
                                           Extent touched) {
    std::vector<std::uint64_t> bytes;
    for (std::uint32_t server = 0; server < layout.servers(); ++server)
        bytes.push_back(
            common_bytes(request.view, request.positions, layout.bytes_of(server, touched)));
    return bytes;
}

// Shapes do not change.
bool is_same(Tiling const& one, Tiling const& other) {
    return one.shape == other.shape && one.origin == other.origin && one.extent == other.extent;
}

}  // namespace

void GatheredFacts::announce(Proposal& mine, Request const& request) {
    now_ = {mine.asked.touched, mine.asked.bytes, mine.asked.request_hash};
    view_now_ = request.view;
    auto const same_places = cell_bytes_ == 0 || is_same(view_now_, gathered_view_);
    mine.as_gathered =
        (has_ != Gathers::nothing || cell_bytes_ != 0) && now_ == gathered_ && same_places;
}

void GatheredFacts::gather(Gathers wanted, Facts const& facts, Team& team, Request const& request) {
    RankFacts const mine{touched(request.view, request.positions), request.positions.bytes()};
    ranks_ = team.gather_values(std::span{&mine, 1});
    if (wanted == Gathers::server_bytes)
        server_bytes_ = team.gather_values(
            std::span<std::uint64_t const>{bytes_by_server(*facts.layout, request, mine.touched)});
    has_ = wanted;
}

// The smallest of (what the node lacks of the cell, the node).
void GatheredFacts::find_holders(std::uint64_t cell_bytes, Facts const& facts, Team& team,
                                 Request const& request) {
    auto values = bytes_by_cell(cell_bytes, facts.touched, {request.view, request.positions});
    team.sum(values, Team::Among::node);
    auto const& topology = team.topology();
    auto const nodes = topology.nodes();
    auto const node = topology.node_of[team.rank()];
    for (auto& value : values) value = (cell_bytes - std::min(value, cell_bytes)) * nodes + node;
    team.minimum(values);
    cells_.clear();
    for (auto const value : values)
        cells_.push_back({static_cast<std::uint32_t>(value % nodes), cell_bytes - value / nodes});
    cell_bytes_ = cell_bytes;
}

Facts GatheredFacts::complete(Facts facts, Strategy const& strategy, Options const& options,
                              bool unchanged, Team& team, Request const& request) {
    auto const wanted = strategy.gathers;
    auto const cell_bytes = ask_cell_bytes(strategy, facts, options);
    if (wanted == Gathers::nothing && cell_bytes == 0) return facts;
    if (!unchanged) forget();
    gathered_ = now_;
    gathered_view_ = view_now_;
    if (has_ < wanted) gather(wanted, facts, team, request);
    if (cell_bytes != 0 && cell_bytes_ != cell_bytes)
        find_holders(cell_bytes, facts, team, request);
    if (wanted != Gathers::nothing) facts.ranks = ranks_;
    if (wanted == Gathers::server_bytes) facts.server_bytes = server_bytes_;
    if (cell_bytes != 0) {
        facts.cells = cells_;
        facts.cell_bytes = cell_bytes;
    }
    return facts;
}

}  // namespace unisono
