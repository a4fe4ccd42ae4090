#include "exchange/coverage.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/expect_contract.hpp"

namespace unisono {
namespace {

using Ranges = std::vector<BufferRange>;

// Words for a window, and what is known of it.
struct Window {
    explicit Window(std::uint64_t window_bytes, std::uint64_t granule_bytes = 1)
        : bytes{window_bytes},
          words(Coverage::bytes_needed(window_bytes) / sizeof(Coverage::Word)),
          coverage{words.data(), granule_bytes} {}

    std::uint64_t bytes;
    std::vector<Coverage::Word> words;
    Coverage coverage;
};

TEST(Coverage, words_of_ones_have_their_first_and_their_last) {
    EXPECT_EQ(ones(0, 0), 1u);
    EXPECT_EQ(ones(63, 63), 1ULL << 63);
    EXPECT_EQ(ones(0, 63), ~0ULL);
    EXPECT_EQ(ones(4, 7), 0xF0u);
}

TEST(Coverage, needs_a_bit_for_every_byte_in_whole_cache_lines) {
    EXPECT_EQ(Coverage::bytes_needed(0), 0u);
    EXPECT_EQ(Coverage::bytes_needed(1), 64u);
    EXPECT_EQ(Coverage::bytes_needed(512), 64u);
    EXPECT_EQ(Coverage::bytes_needed(513), 128u);
}

TEST(Coverage, of_an_unmarked_window_is_empty) {
    Window window{1000};
    EXPECT_EQ(window.coverage.take(window.bytes), Ranges{});
    { Coverage::Marker const nothing{window.coverage}; }
    EXPECT_EQ(window.coverage.take(window.bytes), Ranges{});
}

TEST(Coverage, is_cleared_when_it_is_taken) {
    Window window{1000};
    Coverage::Marker{window.coverage}.mark(10, 20);
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{10, 30}}));
    EXPECT_EQ(window.coverage.take(window.bytes), Ranges{});
}

TEST(Coverage, joins_neighbours_also_across_words) {
    Window window{300};
    {
        Coverage::Marker marker{window.coverage};
        marker.mark(64, 64);
        marker.mark(0, 64);
        marker.mark(128, 1);
        marker.mark(130, 170);
    }
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{0, 129}, {130, 300}}));
}

// The last granule of a window may be cut.
TEST(Coverage, ends_with_the_window) {
    Window window{1001, 8};
    Coverage::Marker{window.coverage}.mark(992, 9);
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{992, 1001}}));
}

TEST(Coverage, of_a_run_is_that_of_its_pieces) {
    Window window{4096, 4};
    Coverage::Marker{window.coverage}.mark(PieceRun{8, 4, 16, 3});
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{8, 12}, {24, 28}, {40, 44}}));
    Coverage::Marker{window.coverage}.mark(PieceRun{8, 16, 16, 200});
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{8, 3208}}));
}

// Against a bit for every granule; several markers at a time, as of several ranks.
TEST(Coverage, is_what_was_marked_by_anybody) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        auto const below = [&](std::uint64_t limit) { return engine() % limit; };
        auto const granule = std::uint64_t{1} << below(5);
        auto const granules = 1 + below(500);
        Window window{granules * granule, granule};
        for (int round = 0; round < 2; ++round) {
            std::vector<bool> marked(granules + 1);  // the last one ends the last extent
            {
                Coverage::Marker one{window.coverage};
                Coverage::Marker other{window.coverage};
                for (auto n = below(20); n > 0; --n) {
                    auto const first = below(granules);
                    auto const count = 1 + below(std::min<std::uint64_t>(granules - first, 150));
                    (below(2) == 0 ? one : other).mark(first * granule, count * granule);
                    std::fill_n(marked.begin() + static_cast<std::ptrdiff_t>(first), count, true);
                }
            }
            Ranges expected;
            for (std::uint64_t i = 0; i < granules; ++i) {
                if (marked[i] && (i == 0 || !marked[i - 1])) expected.push_back({i * granule, 0});
                if (marked[i] && !marked[i + 1]) expected.back().end = (i + 1) * granule;
            }
            ASSERT_EQ(window.coverage.take(window.bytes), expected);
        }
    }
}

// Memory in pieces of 24 bytes cuts what a rank puts into a window, whose granules are larger.
TEST(Coverage, an_extent_that_is_marked_piece_by_piece_is_there_as_a_whole) {
    Window window{1000, 16};
    Coverage::Marker{window.coverage}.mark(
        PieceRun{.offset = 48, .bytes = 24, .stride = 24, .count = 2});
    for (std::uint64_t at = 0; at < 48; at += 24) Coverage::Marker{window.coverage}.mark(at, 24);
    EXPECT_EQ(window.coverage.take(window.bytes), (Ranges{{0, 96}}));
}

TEST(CoverageContract, marks_have_bytes_and_granules_are_powers_of_two) {
    Window window{1000, 8};
    EXPECT_CONTRACT(Coverage::Marker{window.coverage}.mark(8, 0), "bytes");
    EXPECT_CONTRACT(Coverage(window.words.data(), 12), "granule");
    Coverage::Marker{window.coverage}.mark(64, 8);
    EXPECT_CONTRACT(static_cast<void>(window.coverage.take(32)), "begin");
}

}  // namespace
}  // namespace unisono
