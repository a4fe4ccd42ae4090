#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "program.hpp"

namespace bench::papers {
namespace {

constexpr std::array parameters{
    Parameter{"side", 64, "points of the cube; class B: 102, class C: 162"},
    Parameter{"steps", 10, "a call for each; the paper: 40"},
};

constexpr std::uint64_t point_bytes = 5 * sizeof(double);

/// Cell c of a process, one of `cells` x `cells` x `cells`: the diagonal multi-partition of the NAS
/// parallel benchmarks. Every process has one cell in each layer of z, and moves on by one in x and
/// back by one in y from layer to layer.
struct Cell {
    std::array<int, 3> begin;  ///< z, y, x, in points
    std::array<int, 3> end;
};

std::vector<Cell> cells_of(Place place, int cells, int side) {
    auto const cut = [&](int index) { return side * index / cells; };
    std::vector<Cell> own;
    for (int z = 0; z < cells; ++z) {
        int const x = (place.rank % cells + z) % cells;
        int const y = (place.rank / cells + cells - z) % cells;
        own.push_back({{cut(z), cut(y), cut(x)}, {cut(z + 1), cut(y + 1), cut(x + 1)}});
    }
    return own;
}

/// All cells of this process in one datatype, whose extent is the whole cube. The cells ascend in
/// z, and so in the file.
MPI_Datatype filetype_of(std::vector<Cell> const& cells, int side) {
    MPI_Datatype const point = block_of(5, MPI_DOUBLE);
    std::array const sizes{side, side, side};
    std::vector<MPI_Datatype> types;
    for (auto const& cell : cells) {
        std::array<int, 3> lengths{};
        for (std::size_t axis = 0; axis < lengths.size(); ++axis)
            lengths[axis] = cell.end[axis] - cell.begin[axis];
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(3, sizes.data(), lengths.data(), cell.begin.data(), MPI_ORDER_C,
                                 point, &type);
        types.push_back(type);
    }
    std::vector<int> const ones(cells.size(), 1);
    std::vector<MPI_Aint> const zeros(cells.size(), 0);
    MPI_Datatype all = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), zeros.data(), types.data(),
                           &all);
    types.push_back(point);
    for (auto& type : types) MPI_Type_free(&type);
    return committed(all);
}

/// The rows of all cells, in the order in which they follow each other in memory.
std::vector<Piece> rows_of(std::vector<Cell> const& cells, std::uint64_t side) {
    std::vector<Piece> rows;
    for (auto const& cell : cells)
        for (int z = cell.begin[0]; z < cell.end[0]; ++z)
            for (int y = cell.begin[1]; y < cell.end[1]; ++y) {
                std::uint64_t const line = static_cast<std::uint64_t>(z) * side + y;
                rows.push_back(
                    {(line * side + cell.begin[2]) * point_bytes,
                     static_cast<std::uint64_t>(cell.end[2] - cell.begin[2]) * point_bytes});
            }
    return rows;
}

/// After every few steps of the solver all processes append the whole solution. Their memory is
/// contiguous here; that of the original has ghost cells round each cell.
Access access(Place place, Values const& values) {
    auto const cells = static_cast<int>(std::lround(std::sqrt(place.ranks)));
    auto const side = static_cast<int>(values["side"]);
    if (cells * cells != place.ranks)
        throw std::invalid_argument("btio wants a square number of processes");
    if (side < cells) throw std::invalid_argument("--side is too small for so many processes");

    auto const own = cells_of(place, cells, side);
    auto const rows = std::make_shared<std::vector<Piece> const>(rows_of(own, values["side"]));
    std::uint64_t const step_bytes = values["side"] * values["side"] * values["side"] * point_bytes;
    Access access;
    access.filetype = filetype_of(own, side);
    for (Piece const& row : *rows) access.count += row.bytes;
    access.calls = values["steps"];
    access.bytes = access.calls * access.count;
    access.piece_count = access.calls * rows->size();
    access.file_piece = [=](std::uint64_t index) -> Piece {
        Piece const& row = (*rows)[index % rows->size()];
        return {index / rows->size() * step_bytes + row.offset, row.bytes};
    };
    access.file_bytes = access.calls * step_bytes;
    return access;
}

}  // namespace

extern constinit Program const btio{
    .name = "btio",
    .summary = "cells of a diagonal multi-partition of a cube, appended step by step",
    .source = "View-based (CCGrid 2008), VI.A; NAS parallel benchmarks, BT",
    .parameters = parameters,
    .access = access,
};

}  // namespace bench::papers
