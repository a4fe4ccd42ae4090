#include "interpose/datatype_shapes.hpp"

#include <unordered_map>

namespace unisono::interpose {
namespace {

ShapePtr consecutive(std::uint64_t count, Datatype const& child) {
    return make_repeat(count, child.extent, child.shape);
}

// `unit_bytes`: what the stride, the last argument, counts.
ShapePtr vector_shape(Contents const& contents, Datatype const& child, std::int64_t unit_bytes) {
    auto const block = consecutive(contents.count(1), child);
    return make_repeat(contents.count(0), contents.number(2) * unit_bytes, block);
}

ShapePtr indexed_shape(Contents const& contents, Datatype const& child, IndexList const& list) {
    auto const& element = *child.shape;
    auto const gapless = element.kind == Shape::Kind::dense &&
                         child.extent == static_cast<std::int64_t>(element.bytes);
    if (list.entries == 1)
        return make_shifted(consecutive(contents.count(list.first_length), child),
                            contents.number(list.first_displacement) * list.unit_bytes);
    std::vector<std::int64_t> offsets(list.entries);
    std::vector<std::uint64_t> lengths(gapless ? list.entries : 0);
    std::vector<ShapePtr> blocks(gapless ? 0 : list.entries);
    std::unordered_map<std::uint64_t, ShapePtr> block_of_length;
    for (std::size_t i = 0; i < list.entries; ++i) {
        auto const length = contents.count(list.first_length + i * list.length_step);
        offsets[i] = contents.number(list.first_displacement + i) * list.unit_bytes;
        if (gapless) {
            offsets[i] += element.start;
            lengths[i] = length * element.bytes;
        } else {
            auto& block = block_of_length[length];
            if (!block) block = consecutive(length, child);
            blocks[i] = block;
        }
    }
    return gapless ? make_blocks(offsets, lengths) : make_list(offsets, blocks);
}

ShapePtr struct_shape(Contents const& contents) {
    auto const entries = static_cast<std::size_t>(contents.number(0));
    std::vector<std::int64_t> offsets(entries);
    std::vector<ShapePtr> blocks(entries);
    for (std::size_t i = 0; i < entries; ++i) {
        offsets[i] = contents.number(1 + entries + i);
        blocks[i] = consecutive(contents.count(1 + i), *contents.child(i));
    }
    return make_list(offsets, blocks);
}

std::size_t nth_fastest(std::size_t n, std::size_t dimensions, std::int64_t order) {
    return order == MPI_ORDER_FORTRAN ? n : dimensions - 1 - n;
}

ShapePtr subarray_shape(Contents const& contents, Datatype const& child) {
    auto const dimensions = static_cast<std::size_t>(contents.number(0));
    auto const order = contents.number(1 + 3 * dimensions);
    auto shape = child.shape;
    auto stride = child.extent;
    for (std::size_t n = 0; n < dimensions; ++n) {
        auto const dimension = nth_fastest(n, dimensions, order);
        auto const part = contents.count(1 + dimensions + dimension);
        auto const start = contents.number(1 + 2 * dimensions + dimension);
        shape = make_shifted(make_repeat(part, stride, shape), start * stride);
        stride *= contents.number(1 + dimension);
    }
    return shape;
}

// One dimension of a distributed array: `elements` elements, dealt in blocks to `processes`.
struct Distribution {
    std::int64_t elements;
    std::int64_t kind;
    std::int64_t argument;
    std::int64_t processes;
    std::int64_t coordinate;

    [[nodiscard]] std::int64_t block() const {
        auto const given = argument != MPI_DISTRIBUTE_DFLT_DARG;
        if (kind == MPI_DISTRIBUTE_NONE) return elements;
        if (kind == MPI_DISTRIBUTE_BLOCK)
            return given ? argument : (elements + processes - 1) / processes;
        return given ? argument : 1;
    }
};

// Every distribution deals whole blocks in turn, and then what is left of one: MPI makes sure that
// BLOCK and NONE get round only once.
ShapePtr distributed(Distribution const& distribution, std::int64_t stride, ShapePtr const& child) {
    auto const block = distribution.block();
    auto const start = distribution.coordinate * block;
    auto const round = distribution.processes * block;
    if (start >= distribution.elements) return make_dense(0);
    auto const left = distribution.elements - start;
    auto const whole_rounds = left / round;
    auto const last = std::min(left % round, block);
    auto const whole_blocks = whole_rounds + (last == block ? 1 : 0);

    auto const repeat = [&](std::int64_t count, std::int64_t stride_bytes, ShapePtr const& what) {
        return make_repeat(static_cast<std::uint64_t>(count), stride_bytes, what);
    };
    auto const blocks = repeat(whole_blocks, round * stride, repeat(block, stride, child));
    auto const rest = last == block ? make_dense(0) : repeat(last, stride, child);
    std::int64_t const offsets[] = {start * stride, (start + whole_blocks * round) * stride};
    ShapePtr const parts[] = {blocks, rest};
    return make_list(offsets, parts);
}

ShapePtr darray_shape(Contents const& contents, Datatype const& child) {
    auto const dimensions = static_cast<std::size_t>(contents.number(2));
    auto const argument = [&](std::size_t which, std::size_t dimension) {
        return contents.number(3 + which * dimensions + dimension);
    };
    // Ranks are laid out row by row, whatever the order of the array.
    std::vector<std::int64_t> coordinates(dimensions);
    auto rank = contents.number(1);
    for (auto dimension = dimensions; dimension-- > 0;) {
        coordinates[dimension] = rank % argument(3, dimension);
        rank /= argument(3, dimension);
    }
    auto shape = child.shape;
    auto stride = child.extent;
    for (std::size_t n = 0; n < dimensions; ++n) {
        auto const dimension = nth_fastest(n, dimensions, contents.number(3 + 4 * dimensions));
        Distribution const distribution{argument(0, dimension), argument(1, dimension),
                                        argument(2, dimension), argument(3, dimension),
                                        coordinates[dimension]};
        shape = distributed(distribution, stride, shape);
        stride *= distribution.elements;
    }
    return shape;
}

bool is_contiguous(Datatype const& type) {
    return type.shape->kind == Shape::Kind::dense &&
           type.extent == static_cast<std::int64_t>(type.bytes);
}

}  // namespace

ShapePtr derived_shape(Envelope const& envelope, Contents const& contents, bool& plain) {
    plain = false;
    if (envelope.is_struct()) return struct_shape(contents);
    auto const& child = contents.child();
    plain = child->plain && (!envelope.is_index_list() || is_contiguous(*child));
    switch (envelope.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return child->shape;
        case MPI_COMBINER_CONTIGUOUS:
            return consecutive(contents.count(0), *child);
        case MPI_COMBINER_VECTOR:
            return vector_shape(contents, *child, child->extent);
        case MPI_COMBINER_INDEXED:
            return indexed_shape(contents, *child, with_lengths(contents, child->extent));
        case MPI_COMBINER_INDEXED_BLOCK:
            return indexed_shape(contents, *child, with_one_length(contents, child->extent));
        case MPI_COMBINER_HINDEXED_BLOCK:
            return indexed_shape(contents, *child, with_one_length(contents, 1));
#ifdef MPICH_VERSION
        case MPI_COMBINER_HVECTOR_INTEGER:
#endif
        case MPI_COMBINER_HVECTOR:
            return vector_shape(contents, *child, 1);
#ifdef MPICH_VERSION
        case MPI_COMBINER_HINDEXED_INTEGER:
#endif
        case MPI_COMBINER_HINDEXED:
            return indexed_shape(contents, *child, with_lengths(contents, 1));
        case MPI_COMBINER_SUBARRAY:
            return subarray_shape(contents, *child);
        case MPI_COMBINER_DARRAY:
            return darray_shape(contents, *child);
        default:
            throw DecodeFailure{MPI_ERR_UNSUPPORTED_OPERATION};
    }
}

}  // namespace unisono::interpose
