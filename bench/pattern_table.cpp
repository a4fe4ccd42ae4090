#include "pattern_table.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "dice.hpp"
#include "shapes.hpp"

namespace bench {
namespace {

constexpr std::uint64_t KiB = 1024;

/// Largest whole number whose `power`-th power is not above `value`.
std::uint64_t whole_root(std::uint64_t value, int power) {
    auto const rounded =
        static_cast<std::uint64_t>(std::llround(std::pow(static_cast<double>(value), 1.0 / power)));
    std::uint64_t product = 1;
    for (int factor = 0; factor < power; ++factor) product *= rounded;
    return product > value ? rounded - 1 : rounded;
}

/// Blocks of all ranks in turn; after each block `spacing - 1` block lengths that nobody asks for.
/// `unit_bytes`: each rank's bytes are a multiple of it.
Access round_robin(Job const& job, std::uint64_t block_bytes, std::uint64_t spacing = 1,
                   std::uint64_t unit_bytes = 1) {
    auto const ranks = static_cast<std::uint64_t>(job.ranks);
    std::uint64_t const unit_blocks = std::lcm(block_bytes, unit_bytes) / block_bytes;
    std::uint64_t const units = job.bytes / (ranks * block_bytes * unit_blocks);
    std::uint64_t const blocks = std::max<std::uint64_t>(units, 1) * unit_blocks;
    return blocks_in_turn(job, blocks, block_bytes, block_bytes * spacing);
}

template <std::uint64_t block_bytes>
Access strided(Job const& job) {
    return round_robin(job, block_bytes);
}

/// As in the HPIO benchmark: regions with holes between them that no rank touches.
template <std::uint64_t region_bytes>
Access regions_with_holes(Job const& job) {
    return round_robin(job, region_bytes, /*spacing=*/2);
}

/// As in the noncontig benchmark, noncontiguous in the file and in memory: vectors of 256 ints.
Access noncontig(Job const& job) {
    constexpr std::uint64_t vector_bytes = 256 * sizeof(int);
    Access access = round_robin(job, vector_bytes);
    MPI_Type_vector(static_cast<int>(access.piece_count), 256, 512, MPI_INT, &access.memtype);
    access.memtype = committed(access.memtype);
    access.count = 1;
    access.memory = {vector_bytes, 2 * vector_bytes};
    return access;
}

/// Three doubles out of each record of four in memory, blocks of 256 bytes in the file.
Access small_pieces_in_memory(Job const& job) {
    constexpr std::uint64_t used_bytes = 3 * sizeof(double);
    constexpr std::uint64_t record_bytes = 4 * sizeof(double);
    Access access = round_robin(job, 256, /*spacing=*/1, /*unit_bytes=*/used_bytes);
    MPI_Datatype used = block_of(3, MPI_DOUBLE);
    MPI_Type_create_resized(used, 0, record_bytes, &access.memtype);
    MPI_Type_free(&used);
    access.memtype = committed(access.memtype);
    access.count = access.bytes / used_bytes;
    access.memory = {used_bytes, record_bytes};
    return access;
}

/// `calls` calls; in each one the ranks access neighbouring blocks.
Access contiguous_calls(Job const& job, std::uint64_t calls, std::uint64_t unit_bytes) {
    auto const ranks = static_cast<std::uint64_t>(job.ranks);
    std::uint64_t const units = job.bytes / (calls * ranks * unit_bytes);
    return neighbouring_blocks(job, calls, std::max<std::uint64_t>(units, 1) * unit_bytes);
}

Access contiguous(Job const& job) { return contiguous_calls(job, 1, 1); }

/// Calls of 64 KiB by all ranks together: 1000 of them from 64 MB up.
std::uint64_t small_calls(Job const& job) {
    return std::clamp<std::uint64_t>(job.bytes / (64 * KiB), 1, 1000);
}

Access small_calls_contiguous(Job const& job) { return contiguous_calls(job, small_calls(job), 8); }

/// IO500's ior-hard: one record of 47,008 bytes a rank and call, in turn.
Access ior_hard(Job const& job) {
    constexpr std::uint64_t record_bytes = 47'008;
    auto const a_call = static_cast<std::uint64_t>(job.ranks) * record_bytes;
    return neighbouring_blocks(job, std::max<std::uint64_t>(job.bytes / a_call, 1), record_bytes);
}

/// One view of blocks of 1 KiB, walked by the file pointer, call after call.
Access small_calls_strided(Job const& job) {
    std::uint64_t const calls = small_calls(job);
    Access access = round_robin(job, KiB, /*spacing=*/1, /*unit_bytes=*/calls * KiB);
    access.calls = calls;
    access.count = access.bytes_per_call();
    return access;
}

/// Tiles that overlap their neighbours by an eighth of their side. Overlapping writers write the
/// same bytes, so that any order of them is right.
Access tile(Job const& job) {
    constexpr std::uint64_t element_bytes = 32;
    std::uint64_t const elements =
        job.bytes / static_cast<std::uint64_t>(job.ranks) / element_bytes;
    int const side = std::max(static_cast<int>(whole_root(elements, 2)), 1);
    int const overlap = side / 8;
    Grid const grid = process_grid(job, 2);
    Block block;
    for (int axis = 0; axis < 2; ++axis) {
        block.sizes.push_back(grid.sizes[axis] * (side - overlap) + overlap);
        block.subsizes.push_back(side);
        block.starts.push_back(grid.place[axis] * (side - overlap));
    }
    return subarray(block, block_of(element_bytes, MPI_BYTE), element_bytes);
}

Access block_of_ints(Job const& job) {
    std::uint64_t const edge = whole_root(job.bytes / sizeof(int), 3);
    return subarray(block_of_cube(job, edge, process_grid(job, 3)), MPI_INT, sizeof(int));
}

/// Sites of 64 bytes on a four-dimensional lattice, x fastest. MPI_Dims_create cuts the first axes
/// most; lattice codes name x first, so the grid is turned round to cut the fastest axes.
Access lattice(Job const& job) {
    constexpr std::uint64_t site_bytes = 8 * sizeof(double);
    Grid grid = process_grid(job, 4);
    std::reverse(grid.sizes.begin(), grid.sizes.end());
    std::reverse(grid.place.begin(), grid.place.end());
    std::uint64_t const edge = whole_root(job.bytes / site_bytes, 4);
    return subarray(block_of_cube(job, edge, grid), block_of(8, MPI_DOUBLE), site_bytes);
}

struct Extents {
    std::vector<int> lengths;
    std::vector<MPI_Aint> offsets;
    std::uint64_t file_bytes = 0;  ///< of all ranks
    std::uint64_t own_bytes = 0;
};

/// Deals extents of 8 to 64 bytes, end to end in the file: each round gives every rank one, in an
/// order of its own.
Extents deal_extents(Job const& job, std::uint64_t per_rank) {
    Extents extents;
    Dice dice;
    std::vector<int> order(job.ranks);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint64_t round = 0; round < per_rank; ++round) {
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[dice.below(left)]);
        for (int const owner : order) {
            auto const length = 8 + dice.below(57);
            if (owner == job.rank) {
                extents.lengths.push_back(static_cast<int>(length));
                extents.offsets.push_back(static_cast<MPI_Aint>(extents.file_bytes));
                extents.own_bytes += length;
            }
            extents.file_bytes += length;
        }
    }
    return extents;
}

/// Like a climate model's output through PIO: index lists, the cells of all ranks mixed.
Access irregular(Job const& job) {
    constexpr std::uint64_t extents_per_rank = 100'000;
    constexpr std::uint64_t mean_bytes = 36;
    std::uint64_t const wanted = job.bytes / (mean_bytes * static_cast<std::uint64_t>(job.ranks));
    auto const extents = std::make_shared<Extents const>(
        deal_extents(job, std::clamp<std::uint64_t>(wanted, 1, extents_per_rank)));

    Access access;
    MPI_Type_create_hindexed(static_cast<int>(extents->lengths.size()), extents->lengths.data(),
                             extents->offsets.data(), MPI_BYTE, &access.filetype);
    access.filetype = committed(access.filetype);
    access.bytes = access.count = extents->own_bytes;
    access.piece_count = extents->lengths.size();
    access.file_piece = [extents](std::uint64_t index) -> Piece {
        return {static_cast<std::uint64_t>(extents->offsets[index]),
                static_cast<std::uint64_t>(extents->lengths[index])};
    };
    access.file_bytes = extents->file_bytes;
    return access;
}

constexpr std::array patterns{
    Pattern{"contiguous", "one block per rank", contiguous},
    Pattern{"strided-64", "blocks of 64 B in turn", strided<64>},
    Pattern{"strided-1k", "blocks of 1 KiB in turn", strided<KiB>},
    Pattern{"strided-4k", "blocks of 4 KiB in turn", strided<4 * KiB>},
    Pattern{"strided-64k", "blocks of 64 KiB in turn", strided<64 * KiB>},
    Pattern{"strided-1m", "blocks of 1 MiB in turn", strided<KiB * KiB>},
    Pattern{"tile", "overlapping 2-D tiles of 32 B elements", tile},
    Pattern{"block-3d", "3-D blocks of a cube of ints", block_of_ints},
    Pattern{"noncontig", "vectors of 256 ints in memory and file", noncontig},
    Pattern{"hpio-64", "regions of 64 B, holes between", regions_with_holes<64>},
    Pattern{"hpio-1k", "regions of 1 KiB, holes between", regions_with_holes<KiB>},
    Pattern{"irregular", "100,000 extents of 8-64 B per rank", irregular},
    Pattern{"memory-24", "24 B pieces in memory, 256 B in file", small_pieces_in_memory},
    Pattern{"calls-contiguous", "1000 small calls, contiguous", small_calls_contiguous},
    Pattern{"calls-strided", "1000 small calls, blocks of 1 KiB", small_calls_strided},
    Pattern{"ior-hard", "records of 47,008 bytes in turn, a call each", ior_hard},
    Pattern{"lattice", "4-D lattice of 64 B sites", lattice},
};

}  // namespace

std::span<Pattern const> all_patterns() { return patterns; }

}  // namespace bench
