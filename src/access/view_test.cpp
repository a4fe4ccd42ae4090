#include "unisono/view.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "access/copy_past_caches.hpp"
#include "support/cache_lines.hpp"

namespace unisono {
namespace {

// Oracle: the type map written out, one offset per data byte.
using Map = std::vector<std::int64_t>;

void list_bytes(Shape const& shape, std::int64_t origin, Map& map) {
    origin += shape.start;
    switch (shape.kind) {
        case Shape::Kind::dense:
            for (std::uint64_t i = 0; i < shape.bytes; ++i) map.push_back(origin + std::int64_t(i));
            break;
        case Shape::Kind::repeat:
            for (std::uint64_t i = 0; i < shape.count; ++i)
                list_bytes(*shape.child, origin + std::int64_t(i) * shape.stride, map);
            break;
        case Shape::Kind::blocks:
            for (std::size_t i = 0; i < shape.offsets.size(); ++i)
                for (auto b = shape.data_before[i]; b < shape.data_before[i + 1]; ++b)
                    map.push_back(origin + shape.offsets[i] +
                                  std::int64_t(b - shape.data_before[i]));
            break;
        case Shape::Kind::list:
            for (std::size_t i = 0; i < shape.offsets.size(); ++i)
                list_bytes(*shape.children[i], origin + shape.offsets[i], map);
            break;
    }
}

Map map_of(Tiling const& tiling, Positions positions) {
    Map tile;
    list_bytes(*tiling.shape, 0, tile);
    Map map;
    for (auto p = positions.begin; p < positions.end; ++p)
        map.push_back(tiling.origin + std::int64_t(p / tile.size()) * tiling.extent +
                      tile[p % tile.size()]);
    return map;
}

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_{seed} {}
    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    // ascending = true gives shapes as file views have them.
    ShapePtr shape(int depth, bool ascending) {
        if (depth == 0) return make_dense(1 + below(9));
        auto const child = shape(depth - 1, ascending);
        auto const span = child->high - child->low;
        switch (below(4)) {
            case 0: {
                auto const stride =
                    ascending ? span + std::int64_t(below(10)) : std::int64_t(below(60)) - 30;
                return make_repeat(1 + below(4), stride, child);
            }
            case 1:
                return make_shifted(child, std::int64_t(below(20)));
            case 2: {
                std::vector<std::int64_t> offsets;
                std::vector<ShapePtr> children;
                std::int64_t at = 0;
                for (auto n = 1 + below(4); n > 0; --n) {
                    auto const next = below(2) ? child : shape(depth - 1, ascending);
                    at += std::int64_t(below(6));
                    offsets.push_back(ascending ? at - next->low : std::int64_t(below(50)));
                    at += next->high - next->low;
                    children.push_back(next);
                }
                return make_list(offsets, children);
            }
            default: {
                std::vector<std::int64_t> offsets;
                std::vector<std::uint64_t> lengths;
                std::int64_t at = 0;
                for (auto n = 1 + below(6); n > 0; --n) {
                    at += std::int64_t(below(6));
                    offsets.push_back(ascending ? at : std::int64_t(below(50)));
                    lengths.push_back(below(7));
                    at += std::int64_t(lengths.back());
                }
                auto const blocks = make_blocks(offsets, lengths);
                return blocks->empty() ? make_dense(3) : blocks;
            }
        }
    }

    Tiling tiling(bool ascending) {
        auto const made = shape(int(below(5)), ascending);
        auto const span = made->high - made->low;
        return {made, std::int64_t(below(30)),
                ascending ? span + std::int64_t(below(12)) : std::int64_t(below(40)) - 10};
    }

private:
    std::mt19937_64 engine_;
};

// UNISONO_TEST_SEED=123 replays one.
std::vector<std::uint64_t> test_seeds() {
    if (auto const* one = std::getenv("UNISONO_TEST_SEED"))
        return {std::strtoull(one, nullptr, 10)};
    std::vector<std::uint64_t> seeds(3000);
    for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i;
    return seeds;
}

Positions random_positions(Random& random, Tiling const& tiling) {
    auto const all = 3 * tiling.shape->bytes;
    auto const begin = random.below(all);
    return {begin, begin + random.below(all - begin + 1)};
}

TEST(Cursor, walks_any_interval_of_any_shape_in_data_order) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto const tiling = random.tiling(seed % 2 == 0);
        auto const positions = random_positions(random, tiling);
        Map walked;
        std::vector<PieceRun> batch(1 + random.below(5));
        Cursor cursor{tiling, positions};
        while (auto const count = cursor.next(batch))
            for (auto const& run : std::span<PieceRun const>{batch}.first(count))
                for (std::uint64_t i = 0; i < run.count; ++i)
                    for (std::uint64_t b = 0; b < run.bytes; ++b)
                        walked.push_back(run.offset + std::int64_t(i) * run.stride +
                                         std::int64_t(b));
        ASSERT_EQ(walked, map_of(tiling, positions)) << show(*tiling.shape);
    }
}

TEST(View, long_tiles_are_the_same_tiling) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto const tiling = random.tiling(seed % 4 != 0);
        auto const positions = random_positions(random, tiling);
        auto const longer = with_long_tiles(tiling);
        Map walked;
        walk(longer, positions, [&](std::int64_t offset, std::uint64_t bytes) {
            for (std::uint64_t b = 0; b < bytes; ++b) walked.push_back(offset + std::int64_t(b));
        });
        ASSERT_EQ(walked, map_of(tiling, positions)) << show(*tiling.shape);
        ASSERT_EQ(longer.ascending(), tiling.ascending());
    }
}

// Bytes 0 and 4 of each tile, tiles 1 byte apart: 0 4 1 5 2 6 ...
TEST(View, the_first_unit_from_an_offset_is_that_in_data_order_where_tiles_run_into_each_other) {
    Tiling const tiling{make_repeat(2, 4, make_dense(1)), 10, 1};
    EXPECT_FALSE(tiling.ascending());
    EXPECT_EQ(first_unit_from(tiling, 0, 1), 0U);
    EXPECT_EQ(first_unit_from(tiling, 10, 1), 0U);
    EXPECT_EQ(first_unit_from(tiling, 11, 1), 1U);
    EXPECT_EQ(first_unit_from(tiling, 14, 1), 1U);
    EXPECT_EQ(first_unit_from(tiling, 15, 1), 3U);
    EXPECT_EQ(first_unit_from(tiling, 16, 1), 5U);
    Tiling const many{make_dense(100), 0, 1};
    EXPECT_EQ(first_unit_from(many, std::int64_t{1} << 62, 1), std::nullopt);
}

TEST(View, the_first_unit_from_an_offset_is_the_one_that_a_search_finds) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto tiling = random.tiling(true);
        if (seed % 2 == 0) tiling.extent = std::max<std::int64_t>(1, tiling.extent / 3);
        auto const unit = tiling.shape->bytes % 2 == 0 ? 2U : 1U;
        for (std::int64_t offset = 0; offset < tiling.origin + 3 * tiling.extent; ++offset) {
            std::uint64_t expected = 0;
            while (offset_of(tiling, expected * unit) < offset) ++expected;
            ASSERT_EQ(first_unit_from(tiling, offset, unit), expected)
                << "offset " << offset << ", " << show(*tiling.shape);
        }
    }
}

TEST(View, offsets_and_positions_are_inverse_on_ascending_tilings) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto const tiling = random.tiling(true);
        ASSERT_TRUE(tiling.ascending());
        auto const map = map_of(tiling, {0, 3 * tiling.shape->bytes});
        std::uint64_t position = 0;
        for (std::int64_t offset = 0; offset <= map.back(); ++offset) {
            ASSERT_EQ(position_of(tiling, offset), position) << "offset " << offset;
            if (map[position] == offset) {
                ASSERT_EQ(offset_of(tiling, position), offset);
                ++position;
            }
        }
    }
}

TEST(View, nothing_is_within_reach_whose_offset_has_wrapped_round) {
    constexpr auto far = std::uint64_t{1} << 62;
    Tiling const dense{make_dense(1), 0, 1};
    EXPECT_TRUE(within_reach(dense, far - 1, 1, 1));
    EXPECT_FALSE(within_reach(dense, far, 1, 1));
    EXPECT_FALSE(within_reach(dense, far / 4, 8, 8));  // 2^63
    EXPECT_FALSE(within_reach(dense, far / 2, 8, 8));  // 0
    EXPECT_FALSE(within_reach(dense, 0, 1, UINT64_MAX));
    EXPECT_TRUE(within_reach(dense, UINT64_MAX, 8, 0));
    Tiling const displaced{make_dense(8), INT64_MAX - 8, 8};
    EXPECT_FALSE(within_reach(displaced, 0, 8, 8));
    Tiling const sparse{make_dense(1), 0, std::int64_t{1} << 40};
    EXPECT_TRUE(within_reach(sparse, (far >> 40) - 1, 1, 1));
    EXPECT_FALSE(within_reach(sparse, far >> 40, 1, 1));
    EXPECT_FALSE(within_reach(sparse, far, 1, 1));
}

TEST(View, bounds_and_alignment_hold_for_every_piece) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto const tiling = random.tiling(true);
        auto const positions = random_positions(random, tiling);
        if (positions.empty()) continue;
        auto const map = map_of(tiling, positions);
        EXPECT_EQ(touched(tiling, positions),
                  (Extent{std::uint64_t(map.front()), std::uint64_t(map.back() + 1)}));
        auto const bits = alignment_of(tiling, positions);
        auto const granule = std::int64_t(bits & -bits);
        std::uint64_t pieces = 0;
        walk(tiling, positions, [&](std::int64_t offset, std::uint64_t bytes) {
            EXPECT_EQ(offset % granule, 0);
            EXPECT_EQ(std::int64_t(bytes) % granule, 0);
            ++pieces;
        });
        EXPECT_LE(pieces, piece_estimate(tiling, positions) + tiling.shape->pieces);
    }
}

// Pieces of exactly 64 KiB were taken for smaller ones.
TEST(View, whole_pieces_are_not_one_more) {
    Tiling const tiling{make_repeat(1000, 256, make_dense(64)), 0, 256'000};
    EXPECT_EQ(piece_estimate(tiling, {0, 8 * 64}), 8u);
    EXPECT_EQ(piece_estimate(tiling, {64, 8 * 64}), 7u);
    EXPECT_EQ(piece_estimate(tiling, {32, 32 + 8 * 64}), 9u) << "it begins within a piece";
}

// 5.2 million pieces of 8 bytes were shown as 320: those that the backend was given.
TEST(View, pieces_of_loops_are_counted_exactly_wherever_they_are_cut) {
    Tiling const tiling{make_repeat(10, 4096, make_repeat(10, 256, make_dense(64))), 0, 65536};
    for (std::uint64_t begin = 0; begin < 2000; begin += 37)
        for (std::uint64_t end = begin + 1; end < begin + 1500; end += 101) {
            std::uint64_t pieces = 0;
            walk(tiling, {begin, end}, [&](std::int64_t, std::uint64_t) { ++pieces; });
            auto const counted = count_pieces(tiling, {begin, end});
            ASSERT_EQ(counted.pieces, pieces) << begin << " " << end;
            ASSERT_TRUE(counted.exact);
        }
}

TEST(View, pieces_of_lists_are_counted_exactly_where_no_tile_is_cut) {
    Tiling const tiling{make_blocks(std::array<std::int64_t, 3>{0, 32, 128},
                                    std::array<std::uint64_t, 3>{8, 16, 64}),
                        0, 256};
    EXPECT_EQ(count_pieces(tiling, {88, 3 * 88}).pieces, 6u);
    EXPECT_TRUE(count_pieces(tiling, {88, 3 * 88}).exact);
    EXPECT_FALSE(count_pieces(tiling, {1, 3 * 88}).exact);
}

TEST(CopyData, moves_every_byte_between_two_shapes) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE(seed);
        Random random{seed};
        auto const file = random.tiling(true);
        auto memory = random.tiling(true);
        auto const bytes = 1 + random.below(200);
        auto const file_map = map_of(file, {5, 5 + bytes});
        auto const memory_map = map_of(memory, {0, bytes});
        std::vector<std::byte> source(std::size_t(memory_map.back()) + 1);
        for (auto& byte : source) byte = std::byte(random.below(256));
        std::vector<std::byte> target(std::size_t(file_map.back()) + 1, std::byte{0xEE});
        auto expected = target;
        for (std::size_t i = 0; i < bytes; ++i)
            expected[std::size_t(file_map[i])] = source[std::size_t(memory_map[i])];
        auto past_caches = target;
        Placed const from{memory, {0, bytes}, reinterpret_cast<std::uintptr_t>(source.data())};
        auto const to = [&](std::vector<std::byte>& into) {
            return Placed{file, {5, 5 + bytes}, reinterpret_cast<std::uintptr_t>(into.data())};
        };
        copy_data(from, to(target));
        ASSERT_EQ(target, expected);
        copy_past_caches(from, to(past_caches));
        ASSERT_EQ(past_caches, expected);
    }
}

TEST(CopyData, past_caches_is_cut_where_its_buffer_ends) {
    constexpr std::uint64_t bytes = 50'000;
    Tiling const memory{make_dense(7), 0, 10};
    Tiling const file{make_dense(1000), 3, 1001};
    auto const memory_map = map_of(memory, {4, 4 + bytes});
    auto const file_map = map_of(file, {11, 11 + bytes});
    std::vector<std::byte> source(std::size_t(memory_map.back()) + 1);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = std::byte(i % 251);
    std::vector<std::byte> target(std::size_t(file_map.back()) + 2, std::byte{0xEE});
    auto expected = target;
    for (std::size_t i = 0; i < bytes; ++i)
        expected[std::size_t(file_map[i])] = source[std::size_t(memory_map[i])];
    copy_past_caches({memory, {4, 4 + bytes}, reinterpret_cast<std::uintptr_t>(source.data())},
                     {file, {11, 11 + bytes}, reinterpret_cast<std::uintptr_t>(target.data())});
    EXPECT_EQ(target, expected);
}

TEST(CopyData, between_blocks_and_what_is_packed_cuts_pieces_and_tiles) {
    Tiling const view{
        make_blocks(std::array<std::int64_t, 3>{2, 9, 30}, std::array<std::uint64_t, 3>{3, 5, 1}),
        100, 40};
    std::vector<std::byte> file(300);
    for (std::size_t i = 0; i < file.size(); ++i) file[i] = std::byte(i);
    auto const map = map_of(view, {0, 40});
    for (std::uint64_t begin = 0; begin < 20; ++begin)
        for (std::uint64_t end = begin; end < 40; ++end) {
            Placed const in_file{view, {begin, end}, reinterpret_cast<std::uintptr_t>(file.data())};
            Packed const packed{end - begin};
            std::vector<std::byte> data(end - begin + 1, std::byte{0xEE});
            copy_data(in_file, packed.at(data.data()));
            for (std::uint64_t i = begin; i < end; ++i)
                ASSERT_EQ(data[i - begin], file[std::size_t(map[i])]);
            EXPECT_EQ(data.back(), std::byte{0xEE});

            std::vector<std::byte> written(file.size());
            auto expected = written;
            for (std::uint64_t i = begin; i < end; ++i)
                expected[std::size_t(map[i])] = data[i - begin];
            copy_data(packed.at(data.data()),
                      {view, {begin, end}, reinterpret_cast<std::uintptr_t>(written.data())});
            ASSERT_EQ(written, expected);
        }
}

class CopyBytes
    : public testing::TestWithParam<void (*)(std::byte*, std::byte const*, std::uint64_t)> {};

TEST_P(CopyBytes, copies_exactly_the_asked_length) {
    for (std::uint64_t bytes = 0; bytes < 400; ++bytes) {
        std::vector<std::byte> source(bytes);
        for (std::uint64_t i = 0; i < bytes; ++i) source[i] = std::byte(i * 7);
        std::vector<std::byte> target(bytes + 2, std::byte{1});
        GetParam()(target.data() + 1, source.data(), bytes);
        EXPECT_EQ(target.front(), std::byte{1});
        EXPECT_EQ(target.back(), std::byte{1});
        EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin() + 1)) << bytes;
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, CopyBytes, testing::Values(copy_bytes, store_past_caches));

}  // namespace
}  // namespace unisono
