#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "access.hpp"

namespace bench {

/// Which one of how many processes.
struct Place {
    int ranks = 1;
    int rank = 0;
};

// All functions are local. Datatypes that they make are committed; whoever gets an Access frees
// them.

/// Frees the datatypes that are not named ones.
void free_datatypes(Access& access);

/// This rank's part of `bytes` file bytes that all ranks share out: to prepare and to verify them.
Piece slice_of(std::uint64_t bytes, Place place);

/// Makes the memory of a call noncontiguous: each piece of the file is followed by as many bytes
/// that no call touches. Throws std::invalid_argument unless all pieces are equally long.
void spread_in_memory(Access& access);

MPI_Datatype committed(MPI_Datatype type);
MPI_Datatype block_of(std::uint64_t count, MPI_Datatype element);

/// `blocks` blocks of each rank, those of all ranks in turn, a new one every `step_bytes`: one
/// view. Throws std::invalid_argument where there are more, or longer ones, than MPI counts.
Access blocks_in_turn(Place place, std::uint64_t blocks, std::uint64_t block_bytes,
                      std::uint64_t step_bytes);

/// `calls` calls at explicit offsets; in each one the ranks' blocks lie side by side.
Access neighbouring_blocks(Place place, std::uint64_t calls, std::uint64_t block_bytes);

/// One rank's block of an array, slowest dimension first.
struct Block {
    std::vector<int> sizes;
    std::vector<int> subsizes;
    std::vector<int> starts;
};

/// A block of an n-dimensional array as filetype. `element` is committed and `element_bytes` long.
Access subarray(Block const& block, MPI_Datatype element, std::uint64_t element_bytes);

/// The ranks as a grid, as square as can be, and this rank's place in it (last axis fastest).
struct Grid {
    std::vector<int> sizes;
    std::vector<int> place;
};

Grid process_grid(Place place, int dimensions);

/// This rank's block of a cube with `edge` elements a side, cut by `grid`; no rank goes empty.
Block block_of_cube(Place place, std::uint64_t edge, Grid const& grid);

}  // namespace bench
