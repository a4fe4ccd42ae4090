#include "execute/staged/seamless.hpp"

#include "access/edges.hpp"

namespace unisono {

bool may_be_seamless(Facts const& facts) {
    constexpr std::uint64_t pieces_least = 512;  // of a rank: else the reduction costs more
    constexpr std::uint64_t short_bytes = 256;   // else a piece is long to copy, not to mark
    auto const regular = !facts.loops.empty();   // then a few marks are set at a time
    return !regular && facts.bytes == facts.touched.bytes() &&
           facts.pieces >= pieces_least * facts.topology->ranks() &&
           facts.mean_piece_bytes() <= short_bytes;
}

bool is_seamless(Team& team, Facts const& facts, Request const& request) {
    auto edges = edges_of(request.view, request.positions);
    team.sum(edges.sum, Team::Among::all);
    EdgeSum whole;
    whole.add(facts.touched.begin, facts.touched.end);
    return edges == whole;
}

}  // namespace unisono
