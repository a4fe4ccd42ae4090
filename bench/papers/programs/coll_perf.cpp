#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"side", 256, "of the cube of ints; the papers: 64 to 1024"},
};

/// Each process has a block of a cube in row-major order, and asks for it in one call.
Access access(Place place, Values const& values) {
    Grid const grid = process_grid(place, 3);
    return subarray(block_of_cube(place, values["side"], grid), MPI_INT, sizeof(int));
}

}  // namespace

extern constinit Program const coll_perf{
    .name = "coll-perf",
    .summary = "3-D blocks of a cube of ints, one call",
    .source = "Resonant I/O (IPDPS 2009), 4.2.1; View-based (CCGrid 2008), VI.C",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
