#include "execute/gathered.hpp"

#include "access/copy.hpp"

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

}  // namespace

void GatheredFacts::announce(Proposal& mine) {
    now_ = {mine.asked.touched, mine.asked.bytes, mine.asked.request_hash};
    mine.as_gathered = has_ != Gathers::nothing && now_ == gathered_;
}

Facts GatheredFacts::complete(Facts facts, Gathers wanted, bool unchanged, Team& team,
                              Request const& request) {
    if (wanted == Gathers::nothing) return facts;
    if (!unchanged || has_ < wanted) {
        RankFacts const mine{touched(request.view, request.positions), request.positions.bytes()};
        ranks_ = team.gather_values(std::span{&mine, 1});
        if (wanted == Gathers::server_bytes)
            server_bytes_ = team.gather_values(std::span<std::uint64_t const>{
                bytes_by_server(*facts.layout, request, mine.touched)});
        has_ = wanted;
        gathered_ = now_;
    }
    facts.ranks = ranks_;
    if (wanted == Gathers::server_bytes) facts.server_bytes = server_bytes_;
    return facts;
}

}  // namespace unisono
