#include "interpose/datatypes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace unisono::interpose {
namespace {

using DatatypePtr = std::shared_ptr<Datatype const>;

struct DecodeFailure {
    int mpi_error;
};

void check(int mpi_error) {
    if (mpi_error != MPI_SUCCESS) throw DecodeFailure{mpi_error};
}

/// Is a decoded type kept with the type? Parts that are made for one type and are cheap to decode
/// had better not: keeping costs as much.
enum class Keep : bool { if_long, always };

DatatypePtr decode_or_throw(MPI_Datatype type, Keep keep);
using Decoder = DatatypePtr (*)(MPI_Datatype, Keep);

// ---- What MPI says about a type -----------------------------------------------------------------

struct Envelope {
#if MPI_VERSION >= 4
    using Number = MPI_Count;
#else
    using Number = int;
#endif
    Number integers = 0;
    Number addresses = 0;
    Number large_counts = 0;
    Number datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;

    // Predefined types, with or without a name: they have no parts and are never freed.
    [[nodiscard]] bool predefined() const {
        return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
               combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    }
};

Envelope envelope_of(MPI_Datatype type) {
    Envelope envelope;
#if MPI_VERSION >= 4
    check(PMPI_Type_get_envelope_c(type, &envelope.integers, &envelope.addresses,
                                   &envelope.large_counts, &envelope.datatypes,
                                   &envelope.combiner));
#else
    check(PMPI_Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.datatypes,
                                 &envelope.combiner));
#endif
    return envelope;
}

// The arguments that a derived type was made with, in one order for small and large constructors:
// that of the large one, with subarray's and darray's sizes where the small one has them.
class Contents {
public:
    /// `decoder`: for the parts.
    Contents(MPI_Datatype type, Envelope const& envelope, Decoder decoder)
        : decoder_{decoder},
          integers_(size(envelope.integers), &memory_),
          addresses_(size(envelope.addresses), &memory_),
          large_(&memory_),
          datatypes_(size(envelope.datatypes), &memory_) {
#if MPI_VERSION >= 4
        large_.resize(size(envelope.large_counts));
        check(PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses,
                                       envelope.large_counts, envelope.datatypes, integers_.data(),
                                       addresses_.data(), large_.data(), datatypes_.data()));
        if (!large_.empty()) take_up_integers(envelope.combiner);
#else
        check(PMPI_Type_get_contents(type, envelope.integers, envelope.addresses,
                                     envelope.datatypes, integers_.data(), addresses_.data(),
                                     datatypes_.data()));
#endif
    }
    Contents(Contents const&) = delete;
    Contents& operator=(Contents const&) = delete;

    // MPI_Type_get_contents returns new handles of derived types, which are ours to free.
    ~Contents() {
        for (auto& type : datatypes_) release(type);
    }

    [[nodiscard]] std::int64_t number(std::size_t index) const {
        if (!large_.empty()) return static_cast<std::int64_t>(large_[index]);
        if (index < integers_.size()) return integers_[index];
        return static_cast<std::int64_t>(addresses_[index - integers_.size()]);
    }
    [[nodiscard]] std::uint64_t count(std::size_t index) const {
        return static_cast<std::uint64_t>(number(index));
    }
    /// What a type consists of that is no struct.
    [[nodiscard]] DatatypePtr const& child() const {
        if (child_ == nullptr) child_ = decoder_(datatypes_.at(0), Keep::if_long);
        return child_;
    }
    [[nodiscard]] std::span<MPI_Datatype const> parts() const { return datatypes_; }
    [[nodiscard]] bool any_negative() const {
        auto const any = [](auto const& numbers) {
            return std::ranges::any_of(numbers, [](auto number) { return number < 0; });
        };
        return any(integers_) || any(addresses_) || any(large_);
    }
    /// A struct's, where one type may come often.
    [[nodiscard]] DatatypePtr child(std::size_t index) const {
        return decoder_(datatypes_.at(index), Keep::always);
    }

private:
    static void release(MPI_Datatype& type) {
        try {
            if (!envelope_of(type).predefined()) PMPI_Type_free(&type);
        } catch (DecodeFailure const&) {
            // A handle that MPI does not know is not ours to free.
        }
    }

    static std::size_t size(Envelope::Number number) { return static_cast<std::size_t>(number); }

#if MPI_VERSION >= 4
    void take_up_integers(int combiner) {
        std::size_t const before = combiner == MPI_COMBINER_SUBARRAY ? 1
                                   : combiner == MPI_COMBINER_DARRAY ? 3
                                                                     : 0;
        auto const split = integers_.begin() + static_cast<std::ptrdiff_t>(before);
        large_.insert(large_.begin(), integers_.begin(), split);
        large_.insert(large_.end(), split, integers_.end());
    }
#endif

    Decoder decoder_;
    mutable DatatypePtr child_;
    std::array<std::byte, 256> room_;  // for short descriptions
    std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
    std::pmr::vector<int> integers_;
    std::pmr::vector<MPI_Aint> addresses_;
    std::pmr::vector<MPI_Count> large_;  // all numbers of a type made by a large constructor
    std::pmr::vector<MPI_Datatype> datatypes_;
};

// ---- Shapes, one combiner each ------------------------------------------------------------------

ShapePtr predefined_shape(MPI_Datatype type, std::uint64_t bytes) {
    if (type == MPI_SHORT_INT) {
        // The one pair with a gap between its parts; the others have theirs at the end.
        struct ShortInt {
            short value;
            int index;
        };
        std::int64_t const offsets[] = {0, offsetof(ShortInt, index)};
        std::uint64_t const lengths[] = {sizeof(short), sizeof(int)};
        return make_blocks(offsets, lengths);
    }
    return make_dense(bytes);
}

ShapePtr consecutive(std::uint64_t count, Datatype const& child) {
    return make_repeat(count, child.extent, child.shape);
}

// `unit_bytes`: what the stride, the last argument, counts.
ShapePtr vector_shape(Contents const& contents, Datatype const& child, std::int64_t unit_bytes) {
    auto const block = consecutive(contents.count(1), child);
    return make_repeat(contents.count(0), contents.number(2) * unit_bytes, block);
}

// Where an index list has the length and the displacement of entry i.
struct IndexList {
    std::size_t entries;
    std::size_t first_length;
    std::size_t length_step;  // 0: one length for all
    std::size_t first_displacement;
    std::int64_t unit_bytes;  // what displacements count
};

IndexList with_lengths(Contents const& contents, std::int64_t unit_bytes) {
    auto const entries = static_cast<std::size_t>(contents.number(0));
    return {entries, 1, 1, 1 + entries, unit_bytes};
}

IndexList with_one_length(Contents const& contents, std::int64_t unit_bytes) {
    return {static_cast<std::size_t>(contents.number(0)), 1, 0, 2, unit_bytes};
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

bool is_pair(MPI_Datatype type) {
    return type == MPI_FLOAT_INT || type == MPI_DOUBLE_INT || type == MPI_LONG_INT ||
           type == MPI_2INT || type == MPI_SHORT_INT || type == MPI_LONG_DOUBLE_INT;
}

bool is_index_list(int combiner) {
    return combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED ||
           combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

bool is_contiguous(Datatype const& type) {
    return type.shape->kind == Shape::Kind::dense &&
           type.extent == static_cast<std::int64_t>(type.bytes);
}

bool is_struct(int combiner) {
#ifdef MPICH_VERSION
    if (combiner == MPI_COMBINER_STRUCT_INTEGER) return true;
#endif
    return combiner == MPI_COMBINER_STRUCT;
}

// Sets `plain` to whether all parts are.
ShapePtr derived_shape(Envelope const& envelope, Contents const& contents, bool& plain) {
    plain = false;
    if (is_struct(envelope.combiner)) return struct_shape(contents);
    auto const& child = contents.child();
    plain = child->plain && (!is_index_list(envelope.combiner) || is_contiguous(*child));
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

// ---- External32 ---------------------------------------------------------------------------------

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

// Unknown where the compiler that the MPI library was built with made Fortran's default kinds
// longer than files have them.
Units units_of_predefined(MPI_Datatype type, std::uint64_t bytes) {
    constexpr std::array<Units::Run, 1> as_they_are{};
    if (bytes == 1) return Units{as_they_are};
    for (auto const& entry : predefined_units())
        if (entry.type == type && native_bytes(entry.runs) == bytes) return Units{entry.runs};
    return {};
}

Units derived_units(Envelope const& envelope, Contents const& contents, std::uint64_t bytes) {
    Units units;
    if (!is_struct(envelope.combiner)) {
        if (bytes > 0) units = contents.child()->units;
        return units;
    }
    for (std::size_t i = 0; i < contents.count(0); ++i) {
        auto const part = contents.child(i);
        if (!units.append(part->units, contents.count(1 + i) * part->bytes)) return {};
    }
    return units;
}

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
                 std::size_t first_size, std::size_t dimensions) {
    auto elements = std::int64_t{1};
    for (std::size_t i = 0; i < dimensions; ++i) elements *= contents.number(first_size + i);
    bounds.state(0, elements * child.extent);
}

// Of the types that derived_shape() knows.
Bounds derived_bounds(Envelope const& envelope, Contents const& contents) {
    Bounds bounds;
    if (is_struct(envelope.combiner)) {
        auto const entries = static_cast<std::size_t>(contents.number(0));
        for (std::size_t i = 0; i < entries; ++i)
            bounds.place(*contents.child(i), contents.number(1 + entries + i),
                         contents.count(1 + i));
        return bounds;
    }
    auto const& child = contents.child();
    auto const dimensions_at = envelope.combiner == MPI_COMBINER_DARRAY ? 2U : 0U;
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
            state_array(bounds, contents, *child, 1,
                        static_cast<std::size_t>(contents.number(dimensions_at)));
            break;
        case MPI_COMBINER_DARRAY:
            state_array(bounds, contents, *child, 3,
                        static_cast<std::size_t>(contents.number(dimensions_at)));
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

// ---- Types as memory has them -------------------------------------------------------------------

DatatypePtr read_description(MPI_Datatype type, Envelope const& envelope) {
    MPI_Count bytes = 0;
    MPI_Count lower_bound = 0;
    MPI_Count extent = 0;
    check(PMPI_Type_size_x(type, &bytes));
    check(PMPI_Type_get_extent_x(type, &lower_bound, &extent));
    auto decoded = std::make_shared<Datatype>();
    decoded->lower_bound = static_cast<std::int64_t>(lower_bound);
    decoded->extent = static_cast<std::int64_t>(extent);
    decoded->bytes = static_cast<std::uint64_t>(bytes);
    if (envelope.predefined()) {
        decoded->shape = predefined_shape(type, decoded->bytes);
        decoded->plain = !is_pair(type);
        if (envelope.combiner == MPI_COMBINER_NAMED)
            decoded->units = units_of_predefined(type, decoded->bytes);
    } else {
        Contents const contents{type, envelope, decode_or_throw};
        decoded->shape = derived_shape(envelope, contents, decoded->plain);
        decoded->units = derived_units(envelope, contents, decoded->bytes);
        decoded->plain = decoded->plain && envelope.large_counts == 0 && lower_bound == 0 &&
                         decoded->shape->kind != Shape::Kind::list;
    }
    // Wrong data is worse than native speed.
    if (decoded->shape->bytes != decoded->bytes) throw DecodeFailure{MPI_ERR_UNSUPPORTED_OPERATION};
    return decoded;
}

// ---- The cache ----------------------------------------------------------------------------------

// A named type lives for ever and may not take attributes everywhere; any other carries its decoded
// form as an attribute, so that it goes when the type goes (its handle may then be reused).
class Cache {
public:
    DatatypePtr find(MPI_Datatype type) {
        std::scoped_lock const lock{mutex_};
        if (auto const found = named_.find(type); found != named_.end()) return found->second;
        if (keyval_ == MPI_KEYVAL_INVALID) return nullptr;
        void* attribute = nullptr;
        int found = 0;
        check(PMPI_Type_get_attr(type, keyval_, &attribute, &found));
        return found ? *static_cast<DatatypePtr*>(attribute) : nullptr;
    }

    void keep(MPI_Datatype type, Envelope const& envelope, DatatypePtr const& decoded) {
        std::scoped_lock const lock{mutex_};
        if (envelope.combiner == MPI_COMBINER_NAMED) {
            named_.emplace(type, decoded);
            return;
        }
        if (keyval_ == MPI_KEYVAL_INVALID)
            check(PMPI_Type_create_keyval(copy_to_duplicate, forget, &keyval_, nullptr));
        auto holder = std::make_unique<DatatypePtr>(decoded);
        check(PMPI_Type_set_attr(type, keyval_, holder.get()));
        static_cast<void>(holder.release());  // now forget()'s to delete
    }

private:
    // A duplicate has the same type map and bounds.
    static int copy_to_duplicate(MPI_Datatype, int, void*, void* attribute, void* copy, int* keep) {
        auto* holder = new (std::nothrow) DatatypePtr(*static_cast<DatatypePtr*>(attribute));
        *static_cast<void**>(copy) = holder;
        *keep = holder != nullptr;
        return MPI_SUCCESS;
    }

    static int forget(MPI_Datatype, int, void* attribute, void*) {
        delete static_cast<DatatypePtr*>(attribute);
        return MPI_SUCCESS;
    }

    std::mutex mutex_;
    std::unordered_map<MPI_Datatype, DatatypePtr> named_;
    int keyval_ = MPI_KEYVAL_INVALID;
};

Cache& cache() {
    // Never destroyed: MPI may delete attributes while the process exits.
    static auto* const instance = new Cache;
    return *instance;
}

DatatypePtr decode_or_throw(MPI_Datatype type, Keep keep) {
    constexpr Envelope::Number long_list = 64;
    if (type == MPI_DATATYPE_NULL) throw DecodeFailure{MPI_ERR_TYPE};
    if (auto found = cache().find(type)) return found;
    auto const envelope = envelope_of(type);
    auto decoded = read_description(type, envelope);
    if (keep == Keep::always || envelope.predefined() ||
        envelope.integers + envelope.large_counts > long_list)
        cache().keep(type, envelope, decoded);
    return decoded;
}

}  // namespace

namespace {

DatatypePtr decode_by(Decoder decoder, MPI_Datatype type, Keep keep, int* mpi_error) {
    *mpi_error = MPI_SUCCESS;
    try {
        return decoder(type, keep);
    } catch (DecodeFailure const& failure) {
        PMPI_Error_class(failure.mpi_error, mpi_error);
    } catch (std::bad_alloc const&) {
        *mpi_error = MPI_ERR_NO_MEM;
    }
    return nullptr;
}

}  // namespace

std::shared_ptr<Datatype const> decode(MPI_Datatype type, int* mpi_error) {
    return decode_by(decode_or_throw, type, Keep::always, mpi_error);
}

std::shared_ptr<Datatype const> decode_once(MPI_Datatype type, int* mpi_error) {
    return decode_by(decode_or_throw, type, Keep::if_long, mpi_error);
}

std::shared_ptr<Datatype const> decode_external32(MPI_Datatype type, int* mpi_error) {
    return decode_by(external32_or_throw, type, Keep::if_long, mpi_error);
}

bool predefined(MPI_Datatype type) { return envelope_of(type).predefined(); }

bool plainly_made(MPI_Datatype type) {
    try {
        auto const envelope = envelope_of(type);
        if (envelope.predefined()) return true;
        if (envelope.combiner == MPI_COMBINER_DARRAY) return false;
        Contents const contents{type, envelope, decode_or_throw};
        return !contents.any_negative() && std::ranges::all_of(contents.parts(), plainly_made);
    } catch (DecodeFailure const&) {
        return false;
    } catch (std::bad_alloc const&) {
        return false;
    }
}

int unusable(MPI_Datatype type, MPI_Comm quiet) {
    char nothing = 0;
    int position = 0;
    auto const error = PMPI_Pack(&nothing, 0, type, &nothing, 1, &position, quiet);
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_TYPE;
}

}  // namespace unisono::interpose
