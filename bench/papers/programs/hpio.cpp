#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"region-count", 1024, "of each process; the papers: 4096"},
    Parameter{"region-bytes", 64 * KiB, "one region; the papers: 2K to 64K"},
    Parameter{"region-spacing", 0, "bytes after each region that nobody asks for", any_number},
};

/// Regions of all processes in turn, all of them in one call.
Access access(Place place, Values const& values) {
    return blocks_in_turn(place, values["region-count"], values["region-bytes"],
                          values["region-bytes"] + values["region-spacing"]);
}

}  // namespace

extern constinit Program const hpio{
    .name = "hpio",
    .summary = "regions of all processes in turn, with or without holes, one call",
    .source = "Resonant I/O (IPDPS 2009), 4.2.5; IOrchestrator (SC 2010), IV.A",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
