#include "strategies/all.hpp"

namespace unisono {

// Each rank accesses its own request in ascending order, as list I/O; no data moves between ranks.
//
// On one node's own file system the page cache is shared memory already: a rank copies straight
// between its buffer and a mapping of the file, one copy and no system call per piece. That needs
// bytes that exist: a mapping does not grow a file, and filling holes page by page is slow.
constinit Strategy const independent{
    .name = "independent",
    .summary = "each rank its own request, ascending list I/O or a mapping of the file",
    .source = "baseline; mapping measured in reference/baseline.md",
    .unfit = [](Facts const&) { return std::string_view{}; },
    .plan =
        [](Facts const& facts) {
            auto const exists = facts.direction == Direction::read || facts.allocated;
            return Plan{.way = Plan::Way::direct,
                        .mapped = facts.mappable && facts.ascending && exists};
        },
};

}  // namespace unisono
