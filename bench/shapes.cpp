#include "shapes.hpp"

#include <climits>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace bench {

namespace {

void free_unless_named(MPI_Datatype& type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
}

}  // namespace

void free_datatypes(Access& access) {
    free_unless_named(access.filetype);
    free_unless_named(access.memtype);
}

void spread_in_memory(Access& access) {
    std::uint64_t const piece_bytes = access.file_piece(0).bytes;
    if (piece_bytes * access.piece_count != access.bytes)
        throw std::invalid_argument("its pieces differ in length: memory can only be contiguous");
    free_unless_named(access.memtype);
    MPI_Datatype piece = block_of(piece_bytes, MPI_BYTE);
    MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(2 * piece_bytes), &access.memtype);
    MPI_Type_free(&piece);
    access.memtype = committed(access.memtype);
    access.count = access.bytes_per_call() / piece_bytes;
    access.memory = {piece_bytes, 2 * piece_bytes};
}

Piece slice_of(std::uint64_t bytes, Place place) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const share = (bytes + ranks - 1) / ranks;
    std::uint64_t const begin = std::min(static_cast<std::uint64_t>(place.rank) * share, bytes);
    return {begin, std::min(share, bytes - begin)};
}

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype block_of(std::uint64_t count, MPI_Datatype element) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(count), element, &type);
    return committed(type);
}

Access blocks_in_turn(Place place, std::uint64_t blocks, std::uint64_t block_bytes,
                      std::uint64_t step_bytes) {
    if (blocks > INT_MAX || block_bytes > INT_MAX)
        throw std::invalid_argument("more blocks, or longer ones, than MPI can count in one type");
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const stride_bytes = ranks * step_bytes;
    std::uint64_t const first = static_cast<std::uint64_t>(place.rank) * step_bytes;

    Access access;
    MPI_Type_create_hvector(static_cast<int>(blocks), static_cast<int>(block_bytes),
                            static_cast<MPI_Aint>(stride_bytes), MPI_BYTE, &access.filetype);
    access.filetype = committed(access.filetype);
    access.displacement_bytes = first;
    access.bytes = access.count = blocks * block_bytes;
    access.piece_count = blocks;
    access.file_piece = [=](std::uint64_t index) -> Piece {
        return {first + index * stride_bytes, block_bytes};
    };
    access.file_bytes = (blocks * ranks - 1) * step_bytes + block_bytes;
    access.coverage = {block_bytes, step_bytes};
    return access;
}

Access neighbouring_blocks(Place place, std::uint64_t calls, std::uint64_t block_bytes) {
    auto const ranks = static_cast<std::uint64_t>(place.ranks);
    std::uint64_t const first = static_cast<std::uint64_t>(place.rank) * block_bytes;
    Access access;
    access.explicit_offsets = true;
    access.calls = access.piece_count = calls;
    access.count = block_bytes;
    access.bytes = block_bytes * calls;
    access.file_piece = [=](std::uint64_t index) -> Piece {
        return {first + index * ranks * block_bytes, block_bytes};
    };
    access.file_bytes = block_bytes * ranks * calls;
    return access;
}

Access subarray(Block const& block, MPI_Datatype element, std::uint64_t element_bytes) {
    Access access;
    auto const dimensions = static_cast<int>(block.sizes.size());
    MPI_Type_create_subarray(dimensions, block.sizes.data(), block.subsizes.data(),
                             block.starts.data(), MPI_ORDER_C, element, &access.filetype);
    access.filetype = committed(access.filetype);
    access.memtype = element;
    access.count = std::accumulate(block.subsizes.begin(), block.subsizes.end(), std::uint64_t{1},
                                   std::multiplies<>{});
    access.bytes = access.count * element_bytes;
    auto const row_bytes = static_cast<std::uint64_t>(block.subsizes.back()) * element_bytes;
    access.piece_count = access.bytes / row_bytes;
    access.file_piece = [=](std::uint64_t index) -> Piece {
        auto element_index = static_cast<std::uint64_t>(block.starts.back());
        auto stride = static_cast<std::uint64_t>(block.sizes.back());
        for (std::size_t axis = block.sizes.size() - 1; axis-- > 0;) {
            auto const subsize = static_cast<std::uint64_t>(block.subsizes[axis]);
            auto const start = static_cast<std::uint64_t>(block.starts[axis]);
            element_index += (start + index % subsize) * stride;
            index /= subsize;
            stride *= static_cast<std::uint64_t>(block.sizes[axis]);
        }
        return {element_index * element_bytes, row_bytes};
    };
    access.file_bytes = std::accumulate(block.sizes.begin(), block.sizes.end(), element_bytes,
                                        std::multiplies<std::uint64_t>{});
    return access;
}

Grid process_grid(Place place, int dimensions) {
    Grid grid{std::vector<int>(dimensions, 0), std::vector<int>(dimensions, 0)};
    MPI_Dims_create(place.ranks, dimensions, grid.sizes.data());
    int rest = place.rank;
    for (int axis = dimensions - 1; axis >= 0; --axis) {
        grid.place[axis] = rest % grid.sizes[axis];
        rest /= grid.sizes[axis];
    }
    return grid;
}

Block block_of_cube(Place place, std::uint64_t edge, Grid const& grid) {
    int const size = std::max(static_cast<int>(edge), place.ranks);
    Block block;
    for (std::size_t axis = 0; axis < grid.sizes.size(); ++axis) {
        int const begin = size * grid.place[axis] / grid.sizes[axis];
        int const end = size * (grid.place[axis] + 1) / grid.sizes[axis];
        block.sizes.push_back(size);
        block.subsizes.push_back(end - begin);
        block.starts.push_back(begin);
    }
    return block;
}

}  // namespace bench
