#include "strategies/all.hpp"
#include "strategies/realms.hpp"

namespace unisono {

namespace {

// Whether a rank's own access is faster through a mapping of the file than by system calls, where
// both can be done (docs/performance.md has the measurements). Reads never are: pread copies as
// fast, and needs no pages set up. Overwrites are, once whole pages amortise the set-up.
bool mapping_pays(Facts const& facts) {
    constexpr std::uint64_t rank_bytes_least = 1 << 20;
    constexpr std::uint64_t piece_bytes_least = 16 << 10;
    return facts.direction == Direction::write &&
           facts.bytes / facts.topology->ranks() >= rank_bytes_least &&
           facts.mean_piece_bytes() >= piece_bytes_least;
}

std::string_view unfit_independent(Facts const& facts) {
    if (facts.ascending && pages_must_not_be_shared(facts))
        return "this file system writes whole pages back, and nodes may share one";
    return {};
}

}  // namespace

// Each rank accesses its own request in ascending order, as list I/O; no data moves between ranks.
//
// Overwrites on one node's own file system go through a mapping of the file where that pays: one
// copy, straight from the user's memory. That needs bytes that exist: a mapping does not grow a
// file, and filling holes page by page is slow.
constinit Strategy const independent{
    .name = "independent",
    .summary = "each rank its own request, as ascending list I/O or through a mapping of the file",
    .source = "the baseline of every paper; the mapping is ours",
    .unfit = unfit_independent,
    .plan =
        [](Facts const& facts) {
            return Plan{.way = Plan::Way::direct,
                        .mapped = facts.mappable && facts.ascending && facts.allocated &&
                                  mapping_pays(facts)};
        },
};

}  // namespace unisono
