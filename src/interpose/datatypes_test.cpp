#include "interpose/datatypes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "access/copy.hpp"
#include "support/cpu_time.hpp"

// The oracle is the MPI library itself (where MPI_Pack takes each byte from), and for random trees,
// on which the libraries have faults of their own, the type map written out by the standard's
// rules.
namespace unisono::interpose {
namespace {

class Type {
public:
    Type() = default;
    explicit Type(MPI_Datatype predefined) : handle_{predefined} {}
    Type(Type&& other) noexcept
        : handle_{std::exchange(other.handle_, MPI_DATATYPE_NULL)},
          owned_{std::exchange(other.owned_, false)} {}
    Type& operator=(Type&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~Type() {
        if (owned_) MPI_Type_free(&handle_);
    }
    operator MPI_Datatype() const { return handle_; }  // NOLINT: stands for its handle

    // make(MPI_Type_vector, 3, 1, 2, MPI_INT) calls it with a place for the new type.
    template <class Constructor, class... Arguments>
    static Type make(Constructor constructor, Arguments const&... arguments) {
        Type type;
        EXPECT_EQ(constructor(arguments..., &type.handle_), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_commit(&type.handle_), MPI_SUCCESS);
        type.owned_ = true;
        return type;
    }

private:
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
    bool owned_ = false;
};

struct Bounds {
    MPI_Count low = 0;
    MPI_Count extent = 0;
    MPI_Count true_low = 0;
    MPI_Count true_extent = 0;
    MPI_Count bytes = 0;

    explicit Bounds(MPI_Datatype type) {
        MPI_Type_get_extent_x(type, &low, &extent);
        MPI_Type_get_true_extent_x(type, &true_low, &true_extent);
        MPI_Type_size_x(type, &bytes);
    }
    // Bytes that `count` elements span.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> span(int count) const {
        if (bytes == 0) return {0, 0};  // MPI says nothing sensible then
        auto const shift = extent * (count - 1);
        return {true_low + std::min<MPI_Count>(0, shift),
                true_low + true_extent + std::max<MPI_Count>(0, shift)};
    }
};

using Map = std::vector<std::int64_t>;  // offset of each data byte, in data order

Map map_by_mpi(MPI_Datatype type, int count) {
    Bounds const bounds{type};
    auto const [low, high] = bounds.span(count);
    EXPECT_LT(high - low, 1 << 24);
    std::int64_t constexpr margin = 1024;  // were MPI's bounds wrong, it would be seen, not crash
    std::vector<unsigned char> buffer(static_cast<std::size_t>(high - low + 2 * margin));
    auto const data_bytes = static_cast<std::size_t>(bounds.bytes * count);
    std::vector<unsigned char> packed(data_bytes +
                                      1);  // Open MPI wants an address, even of nothing
    Map map(data_bytes, 0);
    for (int pass = 0; pass < 4; ++pass) {
        for (std::size_t i = 0; i < buffer.size(); ++i)
            buffer[i] = static_cast<unsigned char>(i >> (8 * pass));
        int position = 0;
        auto const* origin = buffer.data() + margin - low;
        EXPECT_EQ(MPI_Pack(origin, count, type, packed.data(), static_cast<int>(data_bytes),
                           &position, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        EXPECT_EQ(position, static_cast<int>(data_bytes));
        for (std::size_t i = 0; i < data_bytes; ++i)
            map[i] |= std::int64_t{packed[i]} << (8 * pass);
    }
    for (auto& offset : map) offset += low - margin;
    return map;
}

Map map_by_unisono(Datatype const& type, int count) {
    Map map;
    Tiling const tiling{type.shape, 0, type.extent};
    walk(tiling, {0, type.bytes * static_cast<std::uint64_t>(count)},
         [&](std::int64_t offset, std::uint64_t bytes) {
             for (std::uint64_t i = 0; i < bytes; ++i)
                 map.push_back(offset + static_cast<std::int64_t>(i));
         });
    return map;
}

std::shared_ptr<Datatype const> decoded(MPI_Datatype type) {
    int error = -1;
    auto result = decode(type, &error);
    EXPECT_EQ(error, MPI_SUCCESS);
    return result;
}

void expect_same_as_mpi(MPI_Datatype type) {
    auto const ours = decoded(type);
    ASSERT_TRUE(ours);
    Bounds const bounds{type};
    EXPECT_EQ(ours->bytes, static_cast<std::uint64_t>(bounds.bytes));
    EXPECT_EQ(ours->lower_bound, bounds.low);
    EXPECT_EQ(ours->extent, bounds.extent);
    for (int count = 1; count <= 3; ++count)
        ASSERT_EQ(map_by_unisono(*ours, count), map_by_mpi(type, count))
            << count << " x " << show(*ours->shape);
    auto const map = map_by_unisono(*ours, 1);
    if (map.empty()) return;
    EXPECT_EQ(ours->shape->low, *std::min_element(map.begin(), map.end()));
    EXPECT_EQ(ours->shape->high, *std::max_element(map.begin(), map.end()) + 1);
}

// ---- One combiner at a time ---------------------------------------------------------------------

TEST(Named, basic_types_are_dense) {
    for (auto const type : {MPI_BYTE,
                            MPI_CHAR,
                            MPI_SHORT,
                            MPI_INT,
                            MPI_LONG_LONG,
                            MPI_DOUBLE,
                            MPI_LONG_DOUBLE,
                            MPI_C_BOOL,
                            MPI_C_DOUBLE_COMPLEX,
                            MPI_PACKED,
                            MPI_OFFSET,
                            MPI_COUNT,
                            MPI_WCHAR,
                            MPI_INTEGER,
                            MPI_REAL,
                            MPI_DOUBLE_PRECISION,
                            MPI_COMPLEX,
                            MPI_DOUBLE_COMPLEX,
                            MPI_LOGICAL,
                            MPI_CHARACTER,
                            MPI_2INTEGER,
                            MPI_2REAL,
                            MPI_2DOUBLE_PRECISION}) {
        expect_same_as_mpi(type);
        EXPECT_EQ(decoded(type)->shape->kind, Shape::Kind::dense);
    }
}

TEST(Named, pairs_have_the_gaps_of_c_structs) {
    for (auto const type : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT, MPI_2INT})
        expect_same_as_mpi(type);
    EXPECT_EQ(decoded(MPI_DOUBLE_INT)->bytes, 12u);
    EXPECT_EQ(decoded(MPI_DOUBLE_INT)->extent, 16);
    EXPECT_EQ(show(*decoded(MPI_SHORT_INT)->shape), "blocks 0+2 4+4");
}

TEST(Named, fortran_types_by_precision_are_dense) {
    MPI_Datatype real, complex_number, integer;
    MPI_Type_create_f90_real(15, 307, &real);
    MPI_Type_create_f90_complex(6, 30, &complex_number);
    MPI_Type_create_f90_integer(9, &integer);
    for (auto const type : {real, complex_number, integer}) {
        expect_same_as_mpi(type);
        expect_same_as_mpi(Type::make(MPI_Type_vector, 3, 2, 4, type));
    }
    EXPECT_EQ(decoded(real)->bytes, 8u);
}

TEST(Invalid, the_null_type_is_an_error_not_an_abort) {
    int error = MPI_SUCCESS;
    EXPECT_EQ(decode(MPI_DATATYPE_NULL, &error), nullptr);
    EXPECT_EQ(error, MPI_ERR_TYPE);
}

TEST(Invalid, unusable_types_are_found_out_quietly) {
    MPI_Comm quiet;
    MPI_Comm_dup(MPI_COMM_SELF, &quiet);
    MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
    MPI_Datatype uncommitted;
    MPI_Type_vector(3, 1, 2, MPI_INT, &uncommitted);
    EXPECT_EQ(unusable(MPI_DATATYPE_NULL, quiet), MPI_ERR_TYPE);
    EXPECT_EQ(unusable(uncommitted, quiet), MPI_ERR_TYPE);
    MPI_Type_commit(&uncommitted);
    EXPECT_EQ(unusable(uncommitted, quiet), MPI_SUCCESS);
    EXPECT_EQ(unusable(MPI_DOUBLE_INT, quiet), MPI_SUCCESS);
    MPI_Type_free(&uncommitted);
    MPI_Comm_free(&quiet);
}

TEST(Combiner, dup_and_contiguous) {
    auto const row = Type::make(MPI_Type_contiguous, 7, MPI_DOUBLE);
    EXPECT_EQ(show(*decoded(row)->shape), "dense 56");
    expect_same_as_mpi(Type::make(MPI_Type_dup, static_cast<MPI_Datatype>(row)));
    expect_same_as_mpi(Type::make(MPI_Type_contiguous, 5, MPI_DOUBLE_INT));
    expect_same_as_mpi(Type::make(MPI_Type_contiguous, 5, MPI_SHORT_INT));
}

TEST(Combiner, vector_and_hvector_with_any_stride) {
    EXPECT_EQ(show(*decoded(Type::make(MPI_Type_vector, 3, 2, 5, MPI_INT))->shape),
              "3 x 20 [dense 8]");
    for (int const stride : {-7, -2, 0, 1, 2, 3, 9}) {
        auto const inner = Type::make(MPI_Type_vector, 3, 2, stride, MPI_SHORT_INT);
        expect_same_as_mpi(inner);
        expect_same_as_mpi(Type::make(MPI_Type_create_hvector, 4, 3, MPI_Aint{stride * 11},
                                      static_cast<MPI_Datatype>(inner)));
    }
}

TEST(Combiner, index_lists_in_any_order_with_empty_blocks) {
    int lengths[] = {2, 0, 3, 2, 1};
    int places[] = {9, 4, -6, 0, 30};
    MPI_Aint bytes[] = {90, 41, -61, 3, 300};
    for (auto const child : {MPI_INT, MPI_SHORT_INT, MPI_DOUBLE_INT}) {
        expect_same_as_mpi(Type::make(MPI_Type_indexed, 5, lengths, places, child));
        expect_same_as_mpi(Type::make(MPI_Type_create_hindexed, 5, lengths, bytes, child));
        expect_same_as_mpi(Type::make(MPI_Type_create_indexed_block, 5, 2, places, child));
        expect_same_as_mpi(Type::make(MPI_Type_create_hindexed_block, 5, 2, bytes, child));
    }
}

TEST(Combiner, blocks_of_one_length_share_one_loop) {
    int lengths[] = {2, 3, 2, 3};
    MPI_Aint bytes[] = {0, 100, 200, 307};
    auto const child =
        Type::make(MPI_Type_create_resized, MPI_SHORT_INT, MPI_Aint{0}, MPI_Aint{16});
    auto const type =
        Type::make(MPI_Type_create_hindexed, 4, lengths, bytes, static_cast<MPI_Datatype>(child));
    auto const& children = decoded(type)->shape->children;
    ASSERT_EQ(children.size(), 4u);
    EXPECT_EQ(children[0], children[2]);
    EXPECT_EQ(children[1], children[3]);
}

TEST(Combiner, struct_of_different_types) {
    int lengths[] = {1, 0, 2, 3};
    MPI_Aint places[] = {40, 7, 0, -50};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};
    auto const type = Type::make(MPI_Type_create_struct, 4, lengths, places, types);
    expect_same_as_mpi(type);
    EXPECT_EQ(decoded(type)->shape->children.size(), 3u) << "empty blocks vanish";
}

TEST(Combiner, resized_to_anything) {
    for (MPI_Aint const extent : {0, 3, 8, 20, -12}) {
        auto const type = Type::make(MPI_Type_create_resized, MPI_SHORT_INT, MPI_Aint{-5}, extent);
        expect_same_as_mpi(type);
        EXPECT_EQ(decoded(type)->lower_bound, -5);
        EXPECT_EQ(decoded(type)->extent, extent);
        auto const three = Type::make(MPI_Type_contiguous, 3, static_cast<MPI_Datatype>(type));
        // MPICH 4.0.2 packs several of these as if they were one row, against its own extent.
        if (extent >= 0) expect_same_as_mpi(three);
    }
}

TEST(Combiner, subarray_in_both_orders) {
    int sizes[] = {5, 6, 7};
    int parts[] = {2, 3, 4};
    int starts[] = {3, 1, 2};
    for (int const order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        for (auto const element : {MPI_CHAR, MPI_SHORT_INT, MPI_DOUBLE_INT})
            expect_same_as_mpi(
                Type::make(MPI_Type_create_subarray, 3, sizes, parts, starts, order, element));
}

// pmodels/mpich issue 7169: some flattenings of subarrays in a row lose the gap between them.
TEST(Combiner, subarrays_one_behind_the_other_keep_their_gaps) {
    int sizes[] = {4, 6, 8};
    int parts[] = {2, 6, 8};
    int starts[] = {1, 0, 0};
    auto const block =
        Type::make(MPI_Type_create_subarray, 3, sizes, parts, starts, MPI_ORDER_C, MPI_INT);
    auto const whole_bytes = MPI_Aint{4 * 6 * 8 * sizeof(int)};
    int lengths[] = {1, 2, 1};
    MPI_Aint places[] = {0, whole_bytes, 4 * whole_bytes};
    MPI_Datatype types[] = {block, block, MPI_DOUBLE};
    expect_same_as_mpi(Type::make(MPI_Type_create_struct, 3, lengths, places, types));
    auto const two = Type::make(MPI_Type_contiguous, 2, static_cast<MPI_Datatype>(block));
    EXPECT_EQ(show(*decoded(two)->shape), "@192 2 x 768 [dense 384]");
    expect_same_as_mpi(two);
}

class Distributions : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Distributions, every_rank_gets_what_mpi_gives_it) {
    auto const [order, seed] = GetParam();
    std::mt19937 random(static_cast<unsigned>(seed));
    auto const below = [&](int limit) { return static_cast<int>(random() % unsigned(limit)); };
    int sizes[3], kinds[3], arguments[3], processes[3];
    int ranks = 1;
    for (int d = 0; d < 3; ++d) {
        sizes[d] = 1 + below(11);
        kinds[d] = std::vector{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                               MPI_DISTRIBUTE_NONE}[static_cast<std::size_t>(below(3))];
        processes[d] = kinds[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + below(4);
        arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (below(2) && kinds[d] == MPI_DISTRIBUTE_CYCLIC) arguments[d] = 1 + below(4);
        if (below(2) && kinds[d] == MPI_DISTRIBUTE_BLOCK)
            arguments[d] = (sizes[d] + processes[d] - 1) / processes[d] + below(2);
        ranks *= processes[d];
    }
    auto const element = below(2) ? MPI_SHORT_INT : MPI_INT;
    std::set<std::int64_t> all;
    std::uint64_t bytes = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        SCOPED_TRACE(rank);
        auto const type = Type::make(MPI_Type_create_darray, ranks, rank, 3, sizes, kinds,
                                     arguments, processes, order, element);
        expect_same_as_mpi(type);
        auto const map = map_by_unisono(*decoded(type), 1);
        all.insert(map.begin(), map.end());
        bytes += map.size();
    }
    auto const expected = std::uint64_t(sizes[0] * sizes[1] * sizes[2]) * decoded(element)->bytes;
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(all.size(), expected) << "the ranks' parts cover the array and do not overlap";
}

INSTANTIATE_TEST_SUITE_P(Combiner, Distributions,
                         testing::Combine(testing::Values(MPI_ORDER_C, MPI_ORDER_FORTRAN),
                                          testing::Range(0, 40)));

TEST(Combiner, types_without_data_are_empty) {
    int lengths[] = {0, 0};
    MPI_Aint places[] = {10, 20};
    expect_same_as_mpi(Type::make(MPI_Type_contiguous, 0, MPI_INT));
    expect_same_as_mpi(Type::make(MPI_Type_vector, 3, 0, 5, MPI_INT));
    expect_same_as_mpi(Type::make(MPI_Type_create_hindexed, 2, lengths, places, MPI_INT));
    auto const none = Type::make(MPI_Type_create_hindexed, 0, lengths, places, MPI_INT);
    expect_same_as_mpi(none);
    expect_same_as_mpi(Type::make(MPI_Type_contiguous, 4, static_cast<MPI_Datatype>(none)));
    EXPECT_TRUE(decoded(none)->shape->empty());
}

// ---- Cost ---------------------------------------------------------------------------------------

std::size_t nodes(Shape const& shape) {
    std::size_t sum = 1;
    if (shape.child) sum += nodes(*shape.child);
    for (auto const& child : shape.children) sum += nodes(*child);
    return sum;
}

TEST(Cost, a_hundred_million_pieces_are_a_few_nodes) {
    auto const row = Type::make(MPI_Type_vector, 10'000, 1, 3, MPI_DOUBLE);
    auto const plane = Type::make(MPI_Type_create_hvector, 10'000, 1, MPI_Aint{1} << 20,
                                  static_cast<MPI_Datatype>(row));
    auto const begin_s = cpu_seconds();
    auto const type = decoded(plane);
    auto const took_s = cpu_seconds() - begin_s;
    EXPECT_EQ(type->shape->pieces, 100'000'000u);
    EXPECT_LE(nodes(*type->shape), 3u);
    // Some microseconds; the bound only tells them from a walk over the pieces.
    EXPECT_LT(took_s, 20e-3);
}

TEST(Cost, a_distributed_array_costs_its_dimensions) {
    int sizes[] = {1000, 1000, 100};
    int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {7, 3, MPI_DISTRIBUTE_DFLT_DARG};
    int processes[] = {2, 2, 2};
    auto const type = Type::make(MPI_Type_create_darray, 8, 3, 3, sizes, kinds, arguments,
                                 processes, MPI_ORDER_C, MPI_INT);
    EXPECT_LE(nodes(*decoded(type)->shape), 20u);
}

// ---- The cache ----------------------------------------------------------------------------------

TEST(Cache, a_type_is_decoded_once_and_its_duplicate_never) {
    auto const type = Type::make(MPI_Type_vector, 3, 1, 2, MPI_INT);
    auto const first = decoded(type);
    EXPECT_EQ(decoded(type), first);
    auto const copy = Type::make(MPI_Type_dup, static_cast<MPI_Datatype>(type));
    EXPECT_EQ(decoded(copy), first);
    EXPECT_EQ(decoded(MPI_DOUBLE), decoded(MPI_DOUBLE));
}

TEST(Cache, is_emptied_when_the_type_is_freed) {
    std::weak_ptr<Datatype const> watched;
    {
        auto const type = Type::make(MPI_Type_vector, 3, 1, 2, MPI_SHORT_INT);
        watched = decoded(type);
        EXPECT_FALSE(watched.expired());
    }
    EXPECT_TRUE(watched.expired());
}

// Were a handle that MPI_Type_get_contents gives kept, the child would outlive its last user.
TEST(Cache, children_go_when_their_parents_go) {
    std::weak_ptr<Datatype const> watched;
    auto child = Type::make(MPI_Type_vector, 3, 1, 2, MPI_SHORT_INT);
    watched = decoded(child);
    int lengths[] = {1, 2, 1};
    MPI_Aint places[] = {0, 100, 250};
    MPI_Datatype types[] = {child, child, child};
    auto parent = Type::make(MPI_Type_create_struct, 3, lengths, places, types);
    decoded(parent);
    child = Type{};
    EXPECT_EQ(decoded(parent)->shape->bytes, 4 * 18u);
    parent = Type{};
    EXPECT_TRUE(watched.expired());
}

TEST(Cache, a_reused_handle_is_a_new_type) {
    for (int count = 1; count < 50; ++count) {
        auto const type = Type::make(MPI_Type_vector, count, 1, 2, MPI_INT);
        EXPECT_EQ(decoded(type)->bytes, std::uint64_t(count) * 4);
    }
}

TEST(Cache, threads_may_decode_one_type_at_once) {
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    for (int round = 0; round < 100; ++round) {
        auto const type = Type::make(MPI_Type_vector, 3 + round, 1, 2, MPI_INT);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] { EXPECT_EQ(decoded(type)->bytes, (3u + round) * 4); });
        for (auto& thread : threads) thread.join();
    }
}

// ---- Random trees -------------------------------------------------------------------------------

// The same constructors with small and with large counts.
struct SmallApi {
    using Count = int;
    using Bytes = MPI_Aint;
    static constexpr auto contiguous = MPI_Type_contiguous;
    static constexpr auto vector = MPI_Type_vector;
    static constexpr auto hvector = MPI_Type_create_hvector;
    static constexpr auto indexed = MPI_Type_indexed;
    static constexpr auto hindexed = MPI_Type_create_hindexed;
    static constexpr auto indexed_block = MPI_Type_create_indexed_block;
    static constexpr auto hindexed_block = MPI_Type_create_hindexed_block;
    static constexpr auto structure = MPI_Type_create_struct;
    static constexpr auto subarray = MPI_Type_create_subarray;
    static constexpr auto resized = MPI_Type_create_resized;
};

#if MPI_VERSION >= 4
struct LargeApi {
    using Count = MPI_Count;
    using Bytes = MPI_Count;
    static constexpr auto contiguous = MPI_Type_contiguous_c;
    static constexpr auto vector = MPI_Type_vector_c;
    static constexpr auto hvector = MPI_Type_create_hvector_c;
    static constexpr auto indexed = MPI_Type_indexed_c;
    static constexpr auto hindexed = MPI_Type_create_hindexed_c;
    static constexpr auto indexed_block = MPI_Type_create_indexed_block_c;
    static constexpr auto hindexed_block = MPI_Type_create_hindexed_block_c;
    static constexpr auto structure = MPI_Type_create_struct_c;
    static constexpr auto subarray = MPI_Type_create_subarray_c;
    static constexpr auto resized = MPI_Type_create_resized_c;
};
#else
using LargeApi = SmallApi;
#endif

// A type with its map, written out as the MPI standard defines its constructor.
struct Sample {
    Type type;
    Map map;
    // MPI_Pack is no help with everything: Open MPI 4.1.4 packs 3 bytes with stride -1 forwards,
    // and MPICH 4.0.2 divides by the size of parts without data. Open MPI 5.0.7 packs two numbers
    // of 8 bytes that are resized to 52 as if the second one were at 48.
    bool packed_right_by_mpi = true;
};

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
constexpr std::int64_t extents_packed_right = 16;  // multiples of it
#else
constexpr std::int64_t extents_packed_right = 1;
#endif

class RandomTypes {
public:
    explicit RandomTypes(std::uint64_t seed) : engine_{seed} {}

    Sample tree(int depth) {
        if (depth == 0) return named();
        for (;;) {
            auto const child = tree(depth - 1);
            auto sample = below(2) ? one_level<SmallApi>(child) : one_level<LargeApi>(child);
            auto const [low, high] = Bounds{sample.type}.span(3);
            if (sample.map.size() < 20'000 && low > -200'000 && high < 200'000) return sample;
        }
    }

    int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }

private:
    static constexpr int max_entries = 5;

    // `length` elements of `child` in a row, the first one at `place`. All types but duplicates and
    // resized ones are a list of these.
    struct Entry {
        std::int64_t length;
        std::int64_t place;  // bytes
        Sample const* child;
    };

    static Sample with_entries(Type type, std::vector<Entry> const& entries) {
        Sample sample{std::move(type), {}, true};
        std::int64_t previous = INT64_MIN;
        for (auto const& [length, place, child] : entries) {
            auto const extent = std::int64_t{Bounds{child->type}.extent};
            for (std::int64_t i = 0; i < length; ++i)
                for (auto const offset : child->map)
                    sample.map.push_back(place + i * extent + offset);
            if (length == 0 || child->map.empty() || extent <= 0 || place <= previous ||
                extent % extents_packed_right != 0 || !child->packed_right_by_mpi)
                sample.packed_right_by_mpi = false;
            previous = place;
        }
        if (entries.empty()) sample.packed_right_by_mpi = false;
        return sample;
    }

    Sample named() {
        MPI_Datatype const types[] = {
            MPI_BYTE,       MPI_SHORT,    MPI_INT,  MPI_DOUBLE,          MPI_SHORT_INT,
            MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_LONG_DOUBLE_INT, MPI_C_FLOAT_COMPLEX};
        auto const type = types[below(10)];
        return {Type{type}, map_by_mpi(type, 1), true};
    }

    template <class Api>
    Sample one_level(Sample const& child) {
        switch (below(7)) {
            case 0:
                return {Type::make(MPI_Type_dup, static_cast<MPI_Datatype>(child.type)), child.map,
                        child.packed_right_by_mpi};
            case 1:
                return {Type::make(Api::resized, child.type, typename Api::Bytes{below(60) - 20},
                                   typename Api::Bytes{below(200) - 40}),
                        child.map, child.packed_right_by_mpi};
            case 2: {
                typename Api::Count const count = below(5);
                return with_entries(Type::make(Api::contiguous, count, child.type),
                                    {{count, 0, &child}});
            }
            case 3:
                return vector<Api>(child);
            case 4:
                return index_list<Api>(child);
            case 5:
                return structure<Api>(child);
            default:
                return subarray<Api>(child);
        }
    }

    template <class Api>
    Sample vector(Sample const& child) {
        typename Api::Count const count = below(5), length = below(4), stride = below(12) - 4;
        typename Api::Bytes const stride_bytes = below(300) - 100;
        auto const in_bytes = below(2) == 0;
        auto const step =
            in_bytes ? std::int64_t{stride_bytes} : stride * std::int64_t{extent(child)};
        std::vector<Entry> entries;
        for (int i = 0; i < count; ++i) entries.push_back({length, i * step, &child});
        return with_entries(in_bytes
                                ? Type::make(Api::hvector, count, length, stride_bytes, child.type)
                                : Type::make(Api::vector, count, length, stride, child.type),
                            entries);
    }

    template <class Api>
    Sample index_list(Sample const& child) {
        typename Api::Count lengths[max_entries], places[max_entries];
        typename Api::Bytes bytes[max_entries];
        typename Api::Count const count = below(max_entries + 1), one_length = below(4);
        auto const kind = below(4);
        auto const in_bytes = kind % 2 == 1;
        std::vector<Entry> entries;
        for (int i = 0; i < count; ++i) {
            lengths[i] = kind < 2 ? below(4) : one_length;
            places[i] = below(60) - 20;
            bytes[i] = below(400) - 130;
            entries.push_back({lengths[i],
                               in_bytes ? bytes[i] : places[i] * std::int64_t{extent(child)},
                               &child});
        }
        auto const make = [&]() -> Type {
            switch (kind) {
                case 0:
                    return Type::make(Api::indexed, count, lengths, places, child.type);
                case 1:
                    return Type::make(Api::hindexed, count, lengths, bytes, child.type);
                case 2:
                    return Type::make(Api::indexed_block, count, one_length, places, child.type);
                default:
                    return Type::make(Api::hindexed_block, count, one_length, bytes, child.type);
            }
        };
        return with_entries(make(), entries);
    }

    template <class Api>
    Sample structure(Sample const& child) {
        typename Api::Count lengths[max_entries];
        typename Api::Bytes bytes[max_entries];
        MPI_Datatype types[max_entries];
        typename Api::Count const count = below(max_entries + 1);
        std::vector<Sample> others(max_entries);
        std::vector<Entry> entries;
        for (int i = 0; i < count; ++i) {
            auto& other = others[static_cast<std::size_t>(i)];
            other = tree(below(2));
            auto const& used = below(2) ? child : other;
            types[i] = used.type;
            lengths[i] = below(4);
            bytes[i] = below(400) - 130;
            entries.push_back({lengths[i], bytes[i], &used});
        }
        return with_entries(Type::make(Api::structure, count, lengths, bytes, types), entries);
    }

    template <class Api>
    Sample subarray(Sample const& child) {
        typename Api::Count sizes[3], parts[3], starts[3];
        auto const dimensions = 1 + below(3);
        auto const order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        std::vector<Entry> entries{{1, 0, &child}};  // of the dimensions so far, slowest first
        for (int d = 0; d < dimensions; ++d) {
            sizes[d] = 1 + below(5);
            parts[d] = 1 + below(static_cast<int>(sizes[d]));
            starts[d] = below(static_cast<int>(sizes[d] - parts[d]) + 1);
        }
        for (int n = 0; n < dimensions; ++n) {
            auto const d = order == MPI_ORDER_C ? n : dimensions - 1 - n;
            std::vector<Entry> finer;
            for (auto const& entry : entries)
                for (int i = 0; i < parts[d]; ++i)
                    finer.push_back({1, entry.place * sizes[d] + starts[d] + i, &child});
            entries = std::move(finer);
        }
        for (auto& entry : entries) entry.place *= extent(child);
        return with_entries(
            Type::make(Api::subarray, dimensions, sizes, parts, starts, order, child.type),
            entries);
    }

    static std::int64_t extent(Sample const& sample) { return Bounds{sample.type}.extent; }

    std::mt19937_64 engine_;
};

// UNISONO_TEST_SEED=123 replays one.
std::vector<std::uint64_t> test_seeds() {
    if (auto const* one = std::getenv("UNISONO_TEST_SEED"))
        return {std::strtoull(one, nullptr, 10)};
    std::vector<std::uint64_t> seeds(2000);
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i;
    return seeds;
}

TEST(RandomTrees, hold_the_bytes_that_the_standard_says) {
    int compared_with_mpi = 0;
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        RandomTypes random{seed};
        auto const sample = random.tree(random.below(5));
        auto const ours = decoded(sample.type);
        ASSERT_TRUE(ours);
        ASSERT_EQ(map_by_unisono(*ours, 1), sample.map) << show(*ours->shape);
        if (!sample.packed_right_by_mpi) continue;
        expect_same_as_mpi(sample.type);
        if (HasFatalFailure()) return;
        ++compared_with_mpi;
    }
    if (!std::getenv("UNISONO_TEST_SEED")) {
        EXPECT_GT(compared_with_mpi, 200);
    }
}

// ---- External32 ---------------------------------------------------------------------------------

// A long has four bytes there, as an int has in memory: what is made of longs lies in the file as
// the same of ints in memory.
void expect_as_of_ints(Type const& of_longs, Type const& of_ints) {
    int error = -1;
    auto const external = decode_external32(of_longs, &error);
    ASSERT_TRUE(external);
    EXPECT_EQ(error, MPI_SUCCESS);
    Bounds const bounds{of_ints};
    EXPECT_EQ(external->bytes, static_cast<std::uint64_t>(bounds.bytes));
    EXPECT_EQ(external->lower_bound, bounds.low);
    EXPECT_EQ(external->extent, bounds.extent);
    EXPECT_EQ(map_by_unisono(*external, 3), map_by_unisono(*decoded(of_ints), 3));
    auto const native = decoded(of_longs);
    EXPECT_EQ(native->units.external_bytes(native->bytes), external->bytes);
}

template <class Make>
void expect_as_of_ints(Make const& make) {
    expect_as_of_ints(make(MPI_LONG), make(MPI_INT));
    auto const resized = [](MPI_Datatype type, MPI_Aint extent) {
        return Type::make(MPI_Type_create_resized, type, MPI_Aint{-4}, extent);
    };
    auto const [long_tile, int_tile] =
        std::pair{resized(MPI_LONG, MPI_Aint{20}), resized(MPI_INT, MPI_Aint{20})};
    expect_as_of_ints(make(long_tile), make(int_tile));
}

// What Open MPI and Intel MPI pack wrongly.
TEST(PlainlyMade, not_what_goes_backwards_or_is_distributed_somewhere_inside) {
    auto const backwards = Type::make(MPI_Type_create_hvector, 13, 1, MPI_Aint{-1}, MPI_CHAR);
    auto const positive =
        Type::make(MPI_Type_create_hvector, 13, 1, MPI_Aint{2}, MPI_Datatype{MPI_CHAR});
    auto const array_of = [](MPI_Datatype element) {
        std::array<int, 2> const sizes{5, 1}, part{1, 1}, starts{3, 0};
        return Type::make(MPI_Type_create_subarray, 2, sizes.data(), part.data(), starts.data(),
                          MPI_ORDER_FORTRAN, element);
    };
    EXPECT_TRUE(plainly_made(MPI_DOUBLE));
    EXPECT_TRUE(plainly_made(array_of(positive)));
    EXPECT_FALSE(plainly_made(backwards));
    EXPECT_FALSE(plainly_made(array_of(backwards)));
    int const size = 9, kind = MPI_DISTRIBUTE_CYCLIC, block = 2, ranks = 3;
    auto const distributed = Type::make(MPI_Type_create_darray, 3, 1, 1, &size, &kind, &block,
                                        &ranks, MPI_ORDER_C, MPI_Datatype{MPI_CHAR});
    EXPECT_FALSE(plainly_made(array_of(distributed)));
}

TEST(External32, has_shapes_and_bounds_as_of_shorter_types) {
    int const lengths[] = {2, 0, 1}, places[] = {3, 9, -2}, sizes[] = {4, 6}, parts[] = {2, 3},
              starts[] = {1, 2}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
              arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 2};
    MPI_Aint const bytes[] = {32, 92, -20};  // Open MPI makes extents multiples of four
    using Old = MPI_Datatype;
    expect_as_of_ints([](Old old) { return Type::make(MPI_Type_dup, old); });
    expect_as_of_ints([](Old old) { return Type::make(MPI_Type_contiguous, 3, old); });
    expect_as_of_ints([](Old old) { return Type::make(MPI_Type_vector, 3, 2, -4, old); });
    expect_as_of_ints(
        [](Old old) { return Type::make(MPI_Type_create_hvector, 3, 2, MPI_Aint{52}, old); });
    expect_as_of_ints(
        [&](Old old) { return Type::make(MPI_Type_indexed, 3, lengths, places, old); });
    expect_as_of_ints(
        [&](Old old) { return Type::make(MPI_Type_create_hindexed, 3, lengths, bytes, old); });
    expect_as_of_ints(
        [&](Old old) { return Type::make(MPI_Type_create_indexed_block, 3, 2, places, old); });
    expect_as_of_ints(
        [&](Old old) { return Type::make(MPI_Type_create_hindexed_block, 3, 2, bytes, old); });
    for (int const order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        expect_as_of_ints([&](Old old) {
            return Type::make(MPI_Type_create_subarray, 2, sizes, parts, starts, order, old);
        });
        expect_as_of_ints([&](Old old) {
            return Type::make(MPI_Type_create_darray, 4, 3, 2, sizes, kinds, arguments, grid, order,
                              old);
        });
    }
}

TEST(External32, structs_are_aligned_to_nothing) {
    int const lengths[] = {1, 2, 1};
    MPI_Aint const places[] = {1, 20, 7};
    MPI_Datatype const types[] = {MPI_CHAR, MPI_LONG, MPI_SHORT};
    auto const record = Type::make(MPI_Type_create_struct, 3, lengths, places, types);
    int error = -1;
    auto const external = decode_external32(record, &error);
    ASSERT_TRUE(external);
    EXPECT_EQ(external->bytes, 1u + 8u + 2u);
    EXPECT_EQ(external->lower_bound, 1);
    EXPECT_EQ(external->extent, 27);  // up to 28, without what C would add
}

TEST(External32, stated_bounds_are_the_only_ones_that_count) {
    auto const tile = Type::make(MPI_Type_create_resized, MPI_LONG, MPI_Aint{0}, MPI_Aint{6});
    int const lengths[] = {1, 1};
    MPI_Aint const places[] = {4, 100};
    MPI_Datatype const types[] = {tile, MPI_LONG};
    auto const record = Type::make(MPI_Type_create_struct, 2, lengths, places, types);
    int error = -1;
    auto const external = decode_external32(record, &error);
    ASSERT_TRUE(external);
    EXPECT_EQ(external->lower_bound, 4);
    EXPECT_EQ(external->extent, 6);
}

// By the standard's table. MPI_Pack_external_size is no oracle: Open MPI 4.1.4 says 8 of a long.
TEST(External32, predefined_types_have_the_lengths_of_the_standard) {
    std::vector<std::pair<std::uint64_t, std::vector<MPI_Datatype>>> const lengths = {
        {1, {MPI_PACKED, MPI_BYTE, MPI_CHAR, MPI_SIGNED_CHAR, MPI_C_BOOL, MPI_INT8_T}},
        {2, {MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT16_T, MPI_UINT16_T}},
        {4,
         {MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_FLOAT, MPI_INT32_T, MPI_INTEGER,
          MPI_REAL, MPI_LOGICAL}},
        {8,
         {MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_DOUBLE, MPI_INT64_T, MPI_AINT, MPI_COUNT,
          MPI_OFFSET, MPI_C_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_PRECISION}},
        {16, {MPI_LONG_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX}},
        {32, {MPI_C_LONG_DOUBLE_COMPLEX}},
    };
    for (auto const& [length, types] : lengths)
        for (auto const type : types) {
            std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
            int name_length = 0, error = -1;
            MPI_Type_get_name(type, name.data(), &name_length);
            auto const external = decode_external32(type, &error);
            ASSERT_TRUE(external) << name.data();
            EXPECT_EQ(external->bytes, length) << name.data();
        }
}

TEST(External32, is_not_known_of_every_type) {
    int error = -1;
    MPI_Datatype by_precision = MPI_DATATYPE_NULL;
    MPI_Type_create_f90_real(6, 30, &by_precision);
    EXPECT_FALSE(decode_external32(by_precision, &error));
    EXPECT_EQ(error, MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_FALSE(decode_external32(MPI_DATATYPE_NULL, &error));
    EXPECT_EQ(error, MPI_ERR_TYPE);
}

// ---- Beyond 2^31 --------------------------------------------------------------------------------

#if MPI_VERSION >= 4
TEST(LargeCounts, are_decoded_exactly) {
    auto constexpr big = MPI_Count{3'000'000'000};
    auto const dense = decoded(Type::make(MPI_Type_contiguous_c, big, MPI_INT));
    EXPECT_EQ(show(*dense->shape), "dense 12000000000");
    EXPECT_EQ(dense->extent, 4 * big);
    EXPECT_EQ(
        show(*decoded(Type::make(MPI_Type_vector_c, big, MPI_Count{2}, MPI_Count{5}, MPI_SHORT))
                  ->shape),
        "3000000000 x 10 [dense 4]");
    MPI_Count lengths[] = {big, 1};
    MPI_Count places[] = {big, -big};
    EXPECT_EQ(show(*decoded(Type::make(MPI_Type_create_hindexed_c, MPI_Count{2}, lengths, places,
                                       MPI_BYTE))
                        ->shape),
              "blocks 3000000000+3000000000 -3000000000+1");
}

TEST(LargeCounts, arrays_keep_their_order_of_arguments) {
    auto constexpr big = MPI_Count{3'000'000'000};
    MPI_Count sizes[] = {big, 10};
    MPI_Count parts[] = {2, 5};
    MPI_Count starts[] = {big - 2, 3};
    EXPECT_EQ(show(*decoded(Type::make(MPI_Type_create_subarray_c, 2, sizes, parts, starts,
                                       MPI_ORDER_C, MPI_BYTE))
                        ->shape),
              "@29999999983 2 x 10 [dense 5]");
    int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    int processes[] = {2, 1};
    EXPECT_EQ(show(*decoded(Type::make(MPI_Type_create_darray_c, 2, 1, 2, sizes, kinds, arguments,
                                       processes, MPI_ORDER_C, MPI_BYTE))
                        ->shape),
              "@15000000000 dense 15000000000");
}
#endif

TEST(LargeCounts, types_grow_beyond_them_by_nesting) {
    auto const row = Type::make(MPI_Type_contiguous, 1 << 20, MPI_DOUBLE);
    auto const plane = Type::make(MPI_Type_vector, 1 << 12, 1, 2, static_cast<MPI_Datatype>(row));
    auto const type = decoded(plane);
    EXPECT_EQ(type->bytes, std::uint64_t{1} << 35);
    EXPECT_EQ(show(*type->shape), "4096 x 16777216 [dense 8388608]");
}

}  // namespace
}  // namespace unisono::interpose

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    testing::InitGoogleTest(&argc, argv);
    auto const failed = RUN_ALL_TESTS();
    MPI_Finalize();
    return failed;
}
