#include "report/recording.hpp"

#include <gtest/gtest.h>

#include "access/copy.hpp"
#include "report/report.hpp"
#include "report/shape_text.hpp"

namespace unisono {
namespace {

constexpr std::size_t plenty = 1 << 20;
constexpr auto many_entries = plenty;

using Pieces = std::vector<std::pair<std::int64_t, std::uint64_t>>;

Pieces pieces_of(ShapePtr const& shape) {
    Pieces pieces;
    walk({shape, 0, shape->high}, {0, shape->bytes},
         [&](std::int64_t at, std::uint64_t bytes) { pieces.emplace_back(at, bytes); });
    return pieces;
}

ShapePtr irregular() {
    std::vector<std::int64_t> const offsets{0, 20, 24, 99};
    std::vector<std::uint64_t> const lengths{8, 1, 3, 17};
    return make_blocks(offsets, lengths);
}

ShapePtr list_of_loops() {
    std::vector<std::int64_t> const offsets{5, 1000, 3000};
    std::vector<ShapePtr> const children{make_repeat(4, 16, make_dense(8)),
                                         make_shifted(irregular(), 7), make_dense(3)};
    return make_list(offsets, children);
}

TEST(ShapeText, says_the_same_bytes_in_the_same_order) {
    auto const loop = make_repeat(3, 64, make_repeat(2, 16, make_dense(5)));
    for (auto const& shape :
         {make_dense(8), make_shifted(make_dense(8), -4), loop, make_shifted(loop, 12), irregular(),
          make_shifted(irregular(), 3), make_repeat(7, 500, irregular()), list_of_loops(),
          make_repeat(2, 5000, list_of_loops())}) {
        auto const text = shape_text(*shape, many_entries);
        SCOPED_TRACE(text);
        auto const again = shape_from_text(text);
        ASSERT_NE(again, nullptr);
        EXPECT_EQ(pieces_of(again), pieces_of(shape));
    }
}

TEST(ShapeText, is_short_whatever_a_loop_counts) {
    auto const shape = make_repeat(100'000'000, 16, make_dense(8));
    EXPECT_EQ(shape_text(*shape, 4), R"({"count":100000000,"stride":16,"of":{"bytes":8}})");
}

TEST(ShapeText, of_a_list_that_is_too_long_is_nothing) {
    EXPECT_NE(shape_text(*irregular(), 4), "");
    EXPECT_EQ(shape_text(*irregular(), 3), "");
    EXPECT_EQ(shape_text(*list_of_loops(), 6), "");
}

TEST(ShapeText, that_is_none_is_null) {
    for (auto const* text :
         {"", "7", "{}", "{\"count\": 3}", "{\"offsets\": [1, 2], \"bytes\": [1]}",
          "{\"offsets\": [1], \"of\": [{}]}", "{\"bytes\": \"many\"}"})
        EXPECT_EQ(shape_from_text(text), nullptr) << text;
}

Tiling view_at(std::int64_t origin) { return {make_repeat(4, 16, make_dense(8)), origin, 64}; }

Recording of_rank(std::uint32_t rank, std::size_t bytes_at_most = plenty) {
    Recording recording;
    recording.keep(rank, bytes_at_most, "rw");
    return recording;
}

TEST(Recording, keeps_nothing_unless_asked_to) {
    Recording recording;
    recording.add(Direction::write, view_at(0), {0, 32});
    recording.add_sync();
    recording.add_unknown();
    EXPECT_EQ(recording, Recording{});
}

TEST(Recording, of_calls_in_equal_steps_is_one_entry) {
    auto recording = of_rank(3);
    for (std::uint64_t i = 0; i < 1000; ++i)
        recording.add(Direction::write, view_at(100), {i * 32, (i + 1) * 32});
    auto const& track = recording.by_rank.front();
    EXPECT_EQ(track.rank, 3u);
    EXPECT_EQ(track.views.size(), 1u);
    EXPECT_EQ(track.calls, (std::vector<Recording::Calls>{
                               {.origin = 100, .bytes = 32, .count = 1000, .first_step = 32}}));
}

// As HDF5 does: a view before each call, further on in the file.
TEST(Recording, of_views_that_move_on_is_one_entry) {
    auto recording = of_rank(0);
    for (std::int64_t i = 0; i < 10; ++i)
        recording.add(Direction::read, view_at(1000 - 100 * i), {0, 32});
    EXPECT_EQ(recording.by_rank.front().calls,
              (std::vector<Recording::Calls>{{.kind = RecordedKind::read,
                                              .origin = 1000,
                                              .bytes = 32,
                                              .count = 10,
                                              .origin_step = -100}}));
}

TEST(Recording, keeps_the_order_of_what_differs) {
    auto recording = of_rank(0);
    recording.add(Direction::write, view_at(0), {0, 32});
    recording.add(Direction::read, view_at(0), {0, 32});
    recording.add_sync();
    recording.add(Direction::read, {make_dense(1), 0, 1}, {5, 9});
    recording.add(Direction::read, view_at(0), {32, 32});
    auto const& track = recording.by_rank.front();
    EXPECT_EQ(track.views.size(), 2u);
    EXPECT_EQ(track.calls, (std::vector<Recording::Calls>{
                               {.bytes = 32},
                               {.kind = RecordedKind::read, .bytes = 32},
                               {.kind = RecordedKind::sync},
                               {.kind = RecordedKind::read, .view = 1, .first = 5, .bytes = 4},
                               {.kind = RecordedKind::read, .first = 32}}));
}

std::uint64_t kept_calls(Recording::Track const& track) {
    std::uint64_t calls = 0;
    for (auto const& some : track.calls) calls += some.count;
    return calls;
}

TEST(Recording, is_bounded_and_counts_what_came_later) {
    auto recording = of_rank(0, 4096);
    for (std::uint64_t i = 0; i < 10'000; ++i)
        recording.add(Direction::write, view_at(0), {i * i, i * i + 1 + i % 7});
    auto const& track = recording.by_rank.front();
    EXPECT_GT(kept_calls(track), 10u);
    EXPECT_LT(track.calls.size() * sizeof(Recording::Calls), 4096u);
    EXPECT_EQ(kept_calls(track) + track.left_out, 10'000u);
}

TEST(Recording, ends_at_what_it_cannot_describe) {
    auto const large = make_repeat(2, 1'000'000, list_of_loops());
    auto recording = of_rank(0, 250);
    recording.add(Direction::write, view_at(0), {0, 32});
    recording.add(Direction::write, {large, 0, 2'000'000}, {0, 32});
    recording.add(Direction::write, view_at(0), {32, 64});
    EXPECT_EQ(kept_calls(recording.by_rank.front()), 1u);
    EXPECT_EQ(recording.by_rank.front().left_out, 2u);
}

TEST(Recording, of_all_ranks_comes_through_messages_in_their_order) {
    FileReport first, second;
    first.recording = of_rank(0);
    second.recording = of_rank(1);
    first.recording.hints = {{"cb_nodes", "2"}};
    second.recording.add(Direction::write, view_at(8), {0, 32});
    auto merged = report_from_bytes(to_bytes(second)).value();
    merged.merge(report_from_bytes(to_bytes(first)).value());
    ASSERT_EQ(merged.recording.by_rank.size(), 2u);
    EXPECT_EQ(merged.recording.by_rank[0], first.recording.by_rank[0]);
    EXPECT_EQ(merged.recording.by_rank[1], second.recording.by_rank[0]);
}

TEST(Recording, of_many_ranks_and_files_is_small) {
    EXPECT_EQ(recording_bytes_at_most(1, 0), 1u << 20);
    EXPECT_EQ(recording_bytes_at_most(1024, 0), 32u << 10);
    EXPECT_LT(recording_bytes_at_most(1, 800), 16u << 10);
    EXPECT_EQ(recording_bytes_at_most(1'000'000, 1'000'000), 4096u);
}

}  // namespace
}  // namespace unisono
