#include <array>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"tiles-x", 0, "in a row; 0: as square as the number of processes allows"},
    Parameter{"width", 1024, "elements of one tile in a row; View-based: 2048"},
    Parameter{"height", 768, "rows of one tile; View-based: 1536"},
    Parameter{"element-bytes", 8, "one element"},
    Parameter{"overlap-x", 0, "elements that neighbours in a row share"},
    Parameter{"overlap-y", 0, "rows that neighbours in a column share"},
    Parameter{"rows-per-call", 0, "rows of its tile that a process accesses in one call; 0: all"},
};

Grid tiles(Place place, std::uint64_t tiles_x) {
    if (tiles_x == 0) return process_grid(place, 2);
    auto const x = static_cast<int>(tiles_x);
    if (place.ranks % x != 0)
        throw std::invalid_argument("--tiles-x must divide the number of processes");
    return {{place.ranks / x, x}, {place.rank / x, place.rank % x}};
}

/// One tile for each process. Who writes the same element writes the same value.
Access access(Place place, Values const& values) {
    Grid const grid = tiles(place, values["tiles-x"]);
    std::array const lengths{static_cast<int>(values["height"]), static_cast<int>(values["width"])};
    std::array const overlaps{static_cast<int>(values["overlap-y"]),
                              static_cast<int>(values["overlap-x"])};
    Block block;
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
        int const step = lengths[axis] - overlaps[axis];
        if (step <= 0) throw std::invalid_argument("a tile must be larger than its overlap");
        if (std::int64_t{grid.sizes[axis]} * step + overlaps[axis] > INT_MAX)
            throw std::invalid_argument("all tiles together are too wide or high");
        block.sizes.push_back(grid.sizes[axis] * step + overlaps[axis]);
        block.subsizes.push_back(lengths[axis]);
        block.starts.push_back(grid.place[axis] * step);
    }
    std::uint64_t const rows = values["rows-per-call"];
    std::uint64_t const calls = rows == 0 ? 1 : parts_of(values["height"], rows, "height");
    std::uint64_t const element_bytes = values["element-bytes"];
    Access access = subarray(block, block_of(element_bytes, MPI_BYTE), element_bytes);
    access.calls = calls;
    access.count /= calls;
    return access;
}

}  // namespace

extern constinit Program const mpi_tile_io{
    .name = "mpi-tile-io",
    .summary = "2-D tiles of a dense array, whole or some rows in a call",
    .source = "View-based (CCGrid 2008), VI.B; IOrchestrator (SC 2010), IV.A",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
