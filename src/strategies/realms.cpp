#include "strategies/realms.hpp"

#include <algorithm>
#include <cassert>

namespace unisono {

std::vector<Extent> split_evenly(Extent touched, std::uint32_t count, std::uint64_t unit) {
    assert(count > 0);
    assert(unit > 0);
    auto const first_unit = touched.begin / unit;
    auto const units = touched.empty() ? 0 : div_ceil(touched.end, unit) - first_unit;
    auto const share = units / count;
    auto const extra = units % count;  // this many own one more

    std::vector<Extent> realms;
    realms.reserve(count);
    auto at = first_unit;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto const end = at + share + (i < extra ? 1 : 0);
        auto const realm = intersect({at * unit, end * unit}, touched);
        realms.push_back(realm.empty() ? Extent{touched.end, touched.end} : realm);
        at = end;
    }
    return realms;
}

std::vector<std::uint32_t> spread_over_nodes(Topology const& topology, std::uint32_t wanted) {
    if (wanted == 0 || wanted > topology.ranks()) wanted = topology.ranks();
    std::vector<std::uint32_t> chosen;
    chosen.reserve(wanted);
    for (std::size_t turn = 0; chosen.size() < wanted; ++turn)
        for (auto const& ranks : topology.ranks_of)
            if (turn < ranks.size() && chosen.size() < wanted) chosen.push_back(ranks[turn]);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

}  // namespace unisono
