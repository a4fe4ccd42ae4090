// A 4-D lattice, block-decomposed over a Cartesian grid of ranks, written and read with one
// collective call through a subarray view: how lattice-field-theory codes store configurations.
#include <array>
#include <cstdint>
#include <vector>

#include "demo_support.h"

namespace {

constexpr int dimensions = 4;
constexpr int values_per_site = 12;  // 96 bytes: a spinor of 4 x 3 real pairs in half precision

using Site = std::array<int, dimensions>;

struct Lattice {
    Site global{}, local{}, start{};
    MPI_Datatype site = MPI_DATATYPE_NULL;
    MPI_Datatype view = MPI_DATATYPE_NULL;

    std::int64_t local_sites() const {
        return std::int64_t{local[0]} * local[1] * local[2] * local[3];
    }
    std::int64_t local_bytes() const { return local_sites() * values_per_site * 8; }
};

// Cuts `cells` into `parts` as evenly as it goes; part `index` begins here.
int cut(int cells, int parts, int index) {
    return static_cast<int>(std::int64_t{cells} * index / parts);
}

Lattice make_lattice(int edge) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Site grid{}, place{};
    Site const periods{};
    MPI_Dims_create(ranks, dimensions, grid.data());
    MPI_Comm cartesian;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, grid.data(), periods.data(), 0, &cartesian);
    MPI_Comm_rank(cartesian, &rank);
    MPI_Cart_coords(cartesian, rank, dimensions, place.data());
    MPI_Comm_free(&cartesian);

    Lattice lattice;
    lattice.global = {2 * edge, edge, edge, edge};
    for (int d = 0; d < dimensions; ++d) {
        lattice.start[d] = cut(lattice.global[d], grid[d], place[d]);
        lattice.local[d] = cut(lattice.global[d], grid[d], place[d] + 1) - lattice.start[d];
    }
    MPI_Type_contiguous(values_per_site, MPI_UINT64_T, &lattice.site);
    MPI_Type_commit(&lattice.site);
    MPI_Type_create_subarray(dimensions, lattice.global.data(), lattice.local.data(),
                             lattice.start.data(), MPI_ORDER_C, lattice.site, &lattice.view);
    MPI_Type_commit(&lattice.view);
    return lattice;
}

// Calls `visit(local value index, global value index)` for every value that this rank owns.
template <typename Visit>
void for_each_value(Lattice const& lattice, Visit visit) {
    std::uint64_t here = 0;
    auto const& [nt, nz, ny, nx] = lattice.global;
    for (int t = 0; t < lattice.local[0]; ++t)
        for (int z = 0; z < lattice.local[1]; ++z)
            for (int y = 0; y < lattice.local[2]; ++y) {
                std::uint64_t row = lattice.start[0] + t;
                row = row * nz + lattice.start[1] + z;
                row = row * ny + lattice.start[2] + y;
                row = (row * nx + lattice.start[3]) * values_per_site;
                for (int i = 0; i < lattice.local[3] * values_per_site; ++i) visit(here++, row + i);
            }
}

MPI_File open_with_view(Lattice const& lattice, char const* path, int mode) {
    MPI_File file;
    demo_check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
    demo_check(MPI_File_set_view(file, 0, lattice.site, lattice.view, "native", MPI_INFO_NULL),
               "MPI_File_set_view");
    return file;
}

void write_lattice(Lattice const& lattice, char const* path, demo_result& result) {
    std::vector<std::uint64_t> values(lattice.local_sites() * values_per_site);
    for_each_value(lattice, [&](auto here, auto there) { values[here] = demo_value(there); });

    auto const whole = demo_start();
    auto file = open_with_view(lattice, path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    auto const calls = demo_start();
    MPI_Status status;
    demo_check(MPI_File_write_all(file, values.data(), static_cast<int>(lattice.local_sites()),
                                  lattice.site, &status),
               "MPI_File_write_all");
    result.write_calls_seconds = demo_seconds_since(calls);
    demo_check_bytes(&status, lattice.local_bytes(), "MPI_File_write_all");
    demo_note_strategy(file, &result);
    demo_check(MPI_File_close(&file), "MPI_File_close");
    result.write_whole_seconds = demo_seconds_since(whole);
}

void read_lattice(Lattice const& lattice, char const* path, demo_result& result) {
    std::vector<std::uint64_t> values(lattice.local_sites() * values_per_site);

    auto const whole = demo_start();
    auto file = open_with_view(lattice, path, MPI_MODE_RDONLY);
    auto const calls = demo_start();
    MPI_Status status;
    demo_check(MPI_File_read_all(file, values.data(), static_cast<int>(lattice.local_sites()),
                                 lattice.site, &status),
               "MPI_File_read_all");
    result.read_calls_seconds = demo_seconds_since(calls);
    demo_check_bytes(&status, lattice.local_bytes(), "MPI_File_read_all");
    demo_note_strategy(file, &result);
    demo_check(MPI_File_close(&file), "MPI_File_close");
    result.read_whole_seconds = demo_seconds_since(whole);

    for_each_value(lattice, [&](auto here, auto there) {
        if (values[here] != demo_value(there)) ++result.wrong_values;
    });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    demo_options options;
    demo_parse(argc, argv, "edge N of the lattice of 2N x N x N x N sites of 96 bytes", 32,
               &options);

    auto lattice = make_lattice(static_cast<int>(options.size));
    demo_result result{};
    auto const& [nt, nz, ny, nx] = lattice.global;
    result.bytes = 1.0 * nt * nz * ny * nx * values_per_site * 8;
    if (options.write) write_lattice(lattice, options.path, result);
    if (options.read) read_lattice(lattice, options.path, result);
    MPI_Type_free(&lattice.view);
    MPI_Type_free(&lattice.site);

    int const verdict = demo_finish("lattice", &options, &result);
    MPI_Finalize();
    return verdict;
}
