#include <array>

#include "program.hpp"

namespace bench::papers {

extern Program const demo;
extern Program const mpi_io_test;
extern Program const ior_mpi_io;
extern Program const coll_perf;
extern Program const noncontig;
extern Program const hpio;
extern Program const mpi_tile_io;
extern Program const matrix;
extern Program const btio;
extern Program const strided;
extern Program const checkpoint;

namespace {

constexpr std::array programs{&demo,      &mpi_io_test, &ior_mpi_io,  &coll_perf,
                              &noncontig, &hpio,        &mpi_tile_io, &matrix,
                              &btio,      &strided,     &checkpoint};

}  // namespace

std::span<Program const* const> all_programs() { return programs; }

std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part, std::string_view option) {
    if (part == 0 || whole == 0 || whole % part != 0)
        throw std::invalid_argument("--" + std::string(option) + " must be a multiple of " +
                                    std::to_string(part) + " here");
    return whole / part;
}

Access columns(Place place, std::uint64_t block_bytes, std::uint64_t rows,
               std::uint64_t file_bytes) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const calls = parts_of(file_bytes, ranks * block_bytes * rows, "file-bytes");
    Access access = blocks_in_turn(place, calls * rows, block_bytes, block_bytes);
    access.calls = calls;
    access.count = access.bytes_per_call();
    return access;
}

}  // namespace bench::papers
