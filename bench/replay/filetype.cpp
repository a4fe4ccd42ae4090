#include "filetype.hpp"

#include <climits>
#include <stdexcept>
#include <vector>

#include "shapes.hpp"

namespace bench::replay {
namespace {

using unisono::Shape;

int as_int(std::uint64_t count) {
    if (count > INT_MAX) throw std::runtime_error("a view in the trace counts more than an int");
    return static_cast<int>(count);
}

MPI_Datatype new_type(Shape const& shape);

MPI_Datatype repeated(Shape const& shape) {
    auto child = new_type(*shape.child);
    auto type = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(as_int(shape.count), 1, shape.stride, child, &type);
    MPI_Type_free(&child);
    return type;
}

MPI_Datatype blocks(Shape const& shape) {
    std::vector<MPI_Aint> const offsets(shape.offsets.begin(), shape.offsets.end());
    std::vector<int> lengths(offsets.size());
    for (std::size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = as_int(shape.data_before[i + 1] - shape.data_before[i]);
    auto type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(as_int(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
                             &type);
    return type;
}

MPI_Datatype list(Shape const& shape) {
    std::vector<MPI_Aint> const offsets(shape.offsets.begin(), shape.offsets.end());
    std::vector<int> const lengths(offsets.size(), 1);
    std::vector<MPI_Datatype> children;
    for (auto const& child : shape.children) children.push_back(new_type(*child));
    auto type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(as_int(lengths.size()), lengths.data(), offsets.data(), children.data(),
                           &type);
    for (auto& child : children) MPI_Type_free(&child);
    return type;
}

MPI_Datatype unshifted(Shape const& shape) {
    switch (shape.kind) {
        case Shape::Kind::dense:
            return bytes_type(shape.bytes);
        case Shape::Kind::repeat:
            return repeated(shape);
        case Shape::Kind::blocks:
            return blocks(shape);
        case Shape::Kind::list:
            break;
    }
    return list(shape);
}

MPI_Datatype new_type(Shape const& shape) {
    auto type = unshifted(shape);
    if (shape.start == 0) return type;
    auto shifted = MPI_DATATYPE_NULL;
    int const one = 1;
    MPI_Aint const start = shape.start;
    MPI_Type_create_hindexed(1, &one, &start, type, &shifted);
    MPI_Type_free(&type);
    return shifted;
}

}  // namespace

MPI_Datatype bytes_type(std::uint64_t bytes) {
    constexpr std::uint64_t chunk_bytes = 1 << 30;
    if (bytes <= INT_MAX) return block_of(bytes, MPI_BYTE);
    auto chunk = block_of(chunk_bytes, MPI_BYTE);
    auto chunks = block_of(bytes / chunk_bytes, chunk);
    auto rest = block_of(bytes % chunk_bytes, MPI_BYTE);
    int const lengths[]{1, 1};
    MPI_Aint const offsets[]{0, static_cast<MPI_Aint>(bytes - bytes % chunk_bytes)};
    MPI_Datatype const types[]{chunks, rest};
    auto type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, offsets, types, &type);
    for (auto* part : {&chunk, &chunks, &rest}) MPI_Type_free(part);
    return committed(type);
}

MPI_Datatype filetype_of(Shape const& shape, std::int64_t extent) {
    auto tile = new_type(shape);
    auto type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(tile, 0, extent, &type);
    MPI_Type_free(&tile);
    return committed(type);
}

}  // namespace bench::replay
