#include "exchange/piece_list.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/expect_contract.hpp"

namespace unisono {
namespace {

using Pieces = std::vector<BufferRange>;

// Neighbours that touch are one piece, however they were written.
void add_merging(Pieces& pieces, BufferRange piece) {
    if (!pieces.empty() && pieces.back().end == piece.begin)
        pieces.back().end = piece.end;
    else
        pieces.push_back(piece);
}

Pieces pieces_in(std::span<std::byte const> list) {
    Pieces pieces;
    PieceList::read(list, [&](PieceRun const& run) {
        for (std::uint64_t i = 0; i < run.count; ++i) {
            auto const begin =
                static_cast<std::uint64_t>(run.offset) + i * static_cast<std::uint64_t>(run.stride);
            add_merging(pieces, {begin, begin + run.bytes});
        }
    });
    return pieces;
}

Message list_of(Tiling const& view, Positions positions, std::uint64_t shift) {
    Message message;
    PieceList::Writer{message}.add(view, positions, shift);
    return message;
}

TEST(PieceList, of_nothing_has_no_bytes) {
    Message message;
    { PieceList::Writer const list{message}; }
    EXPECT_TRUE(message.empty());
    EXPECT_TRUE(list_of({make_dense(8), 0, 16}, {}, 0).empty());
    EXPECT_EQ(pieces_in({}), Pieces{});
}

TEST(PieceList, of_a_regular_pattern_costs_a_few_bytes_whatever_its_pieces) {
    Tiling const view{make_repeat(1ULL << 30, 24, make_dense(8)), 0, 24LL << 30};
    auto const list = list_of(view, {0, 8ULL << 30}, 1000);
    EXPECT_LE(list.size(), 16u);
    std::uint64_t runs = 0;
    std::uint64_t pieces = 0;
    PieceList::read(list, [&](PieceRun const& run) {
        ++runs;
        pieces += run.count;
        EXPECT_EQ(run.bytes, 8u);
    });
    EXPECT_LE(runs, 2u);
    EXPECT_EQ(pieces, 1ULL << 30);
}

TEST(PieceList, of_irregular_pieces_costs_three_bytes_for_each) {
    Message message;
    constexpr std::uint64_t pieces = 1000;
    {
        PieceList::Writer list{message};
        std::uint64_t at = 0;
        for (std::uint64_t i = 0; i < pieces; ++i) {
            at += 1 + i % 97;
            list.add(BufferRange{at, at + 1 + i % 89});
            at += 1 + i % 89;
        }
    }
    EXPECT_EQ(message.size(), 3 * pieces);
}

TEST(PieceList, begins_behind_what_the_message_has) {
    Message message(5, std::byte{7});
    PieceList::Writer{message}.add(BufferRange{10, 20});
    ASSERT_GT(message.size(), 5u);
    EXPECT_EQ(message[4], std::byte{7});
    EXPECT_EQ(pieces_in(std::span{message}.subspan(5)), (Pieces{{10, 20}}));
}

TEST(PieceList, carries_numbers_of_any_size) {
    Pieces const far{
        {0, 1}, {127, 128}, {(1ULL << 40) + 1, 1ULL << 41}, {1ULL << 62, (1ULL << 62) + 5}};
    Message message;
    {
        PieceList::Writer list{message};
        for (auto const& piece : far) list.add(piece);
    }
    EXPECT_EQ(pieces_in(message), far);
}

// A view's part in a window: file offsets move by `shift`, backwards where it wraps around.
TEST(PieceList, moves_a_view_to_its_window) {
    Tiling const view{make_dense(4), 1000, 10};
    auto const list = list_of(view, {2, 10}, std::uint64_t{0} - 1000);
    EXPECT_EQ(pieces_in(list), (Pieces{{2, 4}, {10, 14}, {20, 22}}));
}

// Against the view walked piece by piece, in several parts that follow on each other.
TEST(PieceList, says_what_a_walk_says) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 engine{seed};
        auto const below = [&](std::uint64_t limit) { return engine() % limit; };
        std::vector<std::int64_t> offsets;
        std::vector<std::uint64_t> lengths;
        std::int64_t at = 0;
        for (auto n = 1 + below(6); n > 0; --n) {
            at += static_cast<std::int64_t>(below(300));
            offsets.push_back(at);
            lengths.push_back(1 + below(below(2) == 0 ? 4 : 300));
            at += static_cast<std::int64_t>(lengths.back());
        }
        auto const shape = make_repeat(1 + below(4), at + static_cast<std::int64_t>(below(40)),
                                       make_blocks(offsets, lengths));
        Tiling const view{shape, static_cast<std::int64_t>(below(1000)),
                          shape->high + static_cast<std::int64_t>(below(50))};
        auto const shift = below(5000);
        Pieces expected;
        Message message;
        {
            PieceList::Writer list{message};
            auto position = below(200);
            for (int part = 0; part < 3; ++part) {
                Positions const positions{position, position + below(400)};
                list.add(view, positions, shift);
                walk(view, positions, [&](std::int64_t offset, std::uint64_t bytes) {
                    auto const begin = static_cast<std::uint64_t>(offset) + shift;
                    add_merging(expected, {begin, begin + bytes});
                });
                position = positions.end + below(3);
            }
        }
        ASSERT_EQ(pieces_in(message), expected);
    }
}

TEST(PieceListContract, pieces_ascend_and_lists_are_whole) {
    Message message;
    EXPECT_CONTRACT(
        {
            PieceList::Writer list{message};
            list.add(BufferRange{10, 20});
            list.add(BufferRange{19, 30});
        },
        "at_");
    std::vector<std::byte> const cut(2, std::byte{1});
    EXPECT_CONTRACT(pieces_in(cut), "list");
}

}  // namespace
}  // namespace unisono
