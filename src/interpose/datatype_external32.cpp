#include "interpose/datatype_external32.hpp"

#include "interpose/datatype_shapes.hpp"

namespace unisono::interpose {
namespace {

/// A predefined type and what it consists of, one after another.
struct PredefinedUnits {
    MPI_Datatype type;
    std::array<Units::Run, 2> runs{};
};

constexpr Unit number(std::size_t bytes) {
    auto const length = static_cast<std::uint8_t>(bytes);
    return {Unit::Kind::number, length, length};
}

// A table with a line for each type. NOLINTNEXTLINE(readability-function-size)
std::vector<PredefinedUnits> const& predefined_units() {
    constexpr Unit whole{Unit::Kind::integer, sizeof(long), 4};
    constexpr Unit natural{Unit::Kind::natural, sizeof(long), 4};
    constexpr Unit wide{Unit::Kind::natural, sizeof(wchar_t), 2};
    constexpr Unit extended{Unit::Kind::extended, sizeof(long double), 16};
    constexpr Units::Run integer{number(sizeof(int)), 1};
    constexpr auto many = [](Unit unit, std::uint64_t count = 1) {
        return std::array<Units::Run, 2>{{{unit, count}, {{}, 0}}};
    };
    static std::vector<PredefinedUnits> const table = {
        {MPI_SHORT, many(number(2))},
        {MPI_UNSIGNED_SHORT, many(number(2))},
        {MPI_INT, many(number(4))},
        {MPI_UNSIGNED, many(number(4))},
        {MPI_LONG, many(whole)},
        {MPI_UNSIGNED_LONG, many(natural)},
        {MPI_LONG_LONG_INT, many(number(8))},
        {MPI_UNSIGNED_LONG_LONG, many(number(8))},
        {MPI_FLOAT, many(number(4))},
        {MPI_DOUBLE, many(number(8))},
        {MPI_LONG_DOUBLE, many(extended)},
        {MPI_WCHAR, many(wide)},
        {MPI_INT16_T, many(number(2))},
        {MPI_INT32_T, many(number(4))},
        {MPI_INT64_T, many(number(8))},
        {MPI_UINT16_T, many(number(2))},
        {MPI_UINT32_T, many(number(4))},
        {MPI_UINT64_T, many(number(8))},
        {MPI_AINT, many(number(8))},
        {MPI_COUNT, many(number(8))},
        {MPI_OFFSET, many(number(8))},
        {MPI_C_COMPLEX, many(number(4), 2)},
        {MPI_C_FLOAT_COMPLEX, many(number(4), 2)},
        {MPI_C_DOUBLE_COMPLEX, many(number(8), 2)},
        {MPI_C_LONG_DOUBLE_COMPLEX, many(extended, 2)},
        {MPI_CXX_FLOAT_COMPLEX, many(number(4), 2)},
        {MPI_CXX_DOUBLE_COMPLEX, many(number(8), 2)},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, many(extended, 2)},
        {MPI_LOGICAL, many(number(4))},
        {MPI_INTEGER, many(number(4))},
        {MPI_REAL, many(number(4))},
        {MPI_DOUBLE_PRECISION, many(number(8))},
        {MPI_COMPLEX, many(number(4), 2)},
        {MPI_DOUBLE_COMPLEX, many(number(8), 2)},
        {MPI_INTEGER2, many(number(2))},
        {MPI_INTEGER4, many(number(4))},
        {MPI_INTEGER8, many(number(8))},
        {MPI_REAL4, many(number(4))},
        {MPI_REAL8, many(number(8))},
        {MPI_REAL16, many(number(16))},
        {MPI_COMPLEX8, many(number(4), 2)},
        {MPI_COMPLEX16, many(number(8), 2)},
        {MPI_COMPLEX32, many(number(16), 2)},
        {MPI_2INT, many(number(4), 2)},
        {MPI_2INTEGER, many(number(4), 2)},
        {MPI_2REAL, many(number(4), 2)},
        {MPI_2DOUBLE_PRECISION, many(number(8), 2)},
        {MPI_SHORT_INT, {{{number(sizeof(short)), 1}, integer}}},
        {MPI_FLOAT_INT, {{{number(sizeof(float)), 1}, integer}}},
        {MPI_DOUBLE_INT, {{{number(sizeof(double)), 1}, integer}}},
        {MPI_LONG_INT, {{{whole, 1}, integer}}},
        {MPI_LONG_DOUBLE_INT, {{{extended, 1}, integer}}},
    };
    return table;
}

std::uint64_t native_bytes(std::span<Units::Run const> runs) {
    std::uint64_t bytes = 0;
    for (auto const& run : runs) bytes += run.count * run.unit.native_bytes;
    return bytes;
}

}  // namespace

Units units_of_predefined(MPI_Datatype type, std::uint64_t bytes) {
    constexpr std::array<Units::Run, 1> as_they_are{};
    if (bytes == 1) return Units{as_they_are};
    for (auto const& entry : predefined_units())
        if (entry.type == type && native_bytes(entry.runs) == bytes) return Units{entry.runs};
    return {};
}

Units derived_units(Envelope const& envelope, Contents const& contents, std::uint64_t bytes) {
    Units units;
    if (!envelope.is_struct()) {
        if (bytes > 0) units = contents.child()->units;
        return units;
    }
    for (std::size_t i = 0; i < contents.count(0); ++i) {
        auto const part = contents.child(i);
        if (!units.append(part->units, contents.count(1 + i) * part->bytes)) return {};
    }
    return units;
}

namespace {

/// The bounds of a derived type, as MPI defines them by those of its parts.
class Bounds {
public:
    void place(Datatype const& part, std::int64_t offset, std::uint64_t count) {
        if (count == 0 || (has_bounds_ && !part.has_bounds)) return;
        if (part.has_bounds && !has_bounds_) empty_ = true;
        has_bounds_ = part.has_bounds;
        auto const last = static_cast<std::int64_t>(count - 1) * part.extent;
        auto const low = offset + part.lower_bound + std::min<std::int64_t>(0, last);
        auto const high = offset + part.lower_bound + part.extent + std::max<std::int64_t>(0, last);
        low_ = empty_ ? low : std::min(low_, low);
        high_ = empty_ ? high : std::max(high_, high);
        empty_ = false;
    }
    void state(std::int64_t low, std::int64_t extent) {
        low_ = low;
        high_ = low + extent;
        has_bounds_ = true;
    }
    void give(Datatype& type) const {
        type.lower_bound = low_;
        type.extent = high_ - low_;
        type.has_bounds = has_bounds_;
    }

private:
    std::int64_t low_ = 0;
    std::int64_t high_ = 0;
    bool empty_ = true;
    bool has_bounds_ = false;
};

void place_indexed(Bounds& bounds, Contents const& contents, Datatype const& child,
                   IndexList const& list) {
    for (std::size_t i = 0; i < list.entries; ++i)
        bounds.place(child, contents.number(list.first_displacement + i) * list.unit_bytes,
                     contents.count(list.first_length + i * list.length_step));
}

void place_vector(Bounds& bounds, Contents const& contents, Datatype const& child,
                  std::int64_t unit_bytes) {
    auto const blocks = contents.number(0);
    if (blocks == 0) return;
    bounds.place(child, 0, contents.count(1));
    bounds.place(child, (blocks - 1) * contents.number(2) * unit_bytes, contents.count(1));
}

// The whole array, which begins where it does.
void state_array(Bounds& bounds, Contents const& contents, Datatype const& child,
                 std::size_t dimensions_at) {
    auto const dimensions = contents.count(dimensions_at);
    auto elements = std::int64_t{1};
    for (std::size_t i = 0; i < dimensions; ++i) elements *= contents.number(dimensions_at + 1 + i);
    bounds.state(0, elements * child.extent);
}

// Of the types that derived_shape() knows.
Bounds derived_bounds(Envelope const& envelope, Contents const& contents) {
    Bounds bounds;
    if (envelope.is_struct()) {
        auto const entries = static_cast<std::size_t>(contents.number(0));
        for (std::size_t i = 0; i < entries; ++i)
            bounds.place(*contents.child(i), contents.number(1 + entries + i),
                         contents.count(1 + i));
        return bounds;
    }
    auto const& child = contents.child();
    switch (envelope.combiner) {
        case MPI_COMBINER_DUP:
            bounds.place(*child, 0, 1);
            break;
        case MPI_COMBINER_RESIZED:
            bounds.state(contents.number(0), contents.number(1));
            break;
        case MPI_COMBINER_CONTIGUOUS:
            bounds.place(*child, 0, contents.count(0));
            break;
        case MPI_COMBINER_VECTOR:
            place_vector(bounds, contents, *child, child->extent);
            break;
        case MPI_COMBINER_INDEXED:
            place_indexed(bounds, contents, *child, with_lengths(contents, child->extent));
            break;
        case MPI_COMBINER_INDEXED_BLOCK:
            place_indexed(bounds, contents, *child, with_one_length(contents, child->extent));
            break;
        case MPI_COMBINER_HINDEXED_BLOCK:
            place_indexed(bounds, contents, *child, with_one_length(contents, 1));
            break;
        case MPI_COMBINER_SUBARRAY:
            state_array(bounds, contents, *child, 0);
            break;
        case MPI_COMBINER_DARRAY:
            state_array(bounds, contents, *child, 2);
            break;
        case MPI_COMBINER_HVECTOR:
            place_vector(bounds, contents, *child, 1);
            break;
        case MPI_COMBINER_HINDEXED:
            place_indexed(bounds, contents, *child, with_lengths(contents, 1));
            break;
        default:
            throw DecodeFailure{MPI_ERR_UNSUPPORTED_OPERATION};
    }
    return bounds;
}

}  // namespace

DatatypePtr external32_or_throw(MPI_Datatype type, Keep) {
    if (type == MPI_DATATYPE_NULL) throw DecodeFailure{MPI_ERR_TYPE};
    auto const envelope = envelope_of(type);
    auto decoded = std::make_shared<Datatype>();
    if (envelope.predefined()) {
        auto const native = decode_or_throw(type, Keep::always);
        if (!native->units.known()) throw DecodeFailure{MPI_ERR_UNSUPPORTED_OPERATION};
        decoded->bytes = native->units.external_bytes(native->bytes);
        decoded->shape = make_dense(decoded->bytes);
        decoded->extent = static_cast<std::int64_t>(decoded->bytes);
        return decoded;
    }
    Contents const contents{type, envelope, external32_or_throw};
    decoded->shape = derived_shape(envelope, contents, decoded->plain);
    decoded->bytes = decoded->shape->bytes;
    derived_bounds(envelope, contents).give(*decoded);
    return decoded;
}

}  // namespace unisono::interpose
