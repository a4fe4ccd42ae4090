#pragma once

#include <array>
#include <cstdint>

#include "strategies/scene.hpp"

namespace unisono {

/// `parts` processes per dimension, slowest first, as MPI_Dims_create() makes them of 4, 9, 16, 64,
/// 1024 and 16384.
std::array<std::uint64_t, 3> process_grid(std::uint32_t ranks);

/// ROMIO's coll_perf: an array of `side`^3 four-byte integers, a block for each rank.
Scene coll_perf(std::uint32_t ranks, std::uint64_t side);

/// One step of NPB's BTIO: side^3 cells of five doubles, in diagonal multi-partition: of each of
/// the sqrt(ranks) slabs of the array, every rank has another block. `ranks` is a square.
Scene btio(std::uint32_t ranks, std::uint64_t side);

}  // namespace unisono
