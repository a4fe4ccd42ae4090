#include "backends/faster_way.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

constexpr std::uint64_t bytes = 512 << 10;
constexpr double alone_s = 128e-6;  // a core's copy
constexpr double queued_s = 2e-3;   // behind 15 others
constexpr double mapping_s = 600e-6;

void note_calls(FasterWay& way, int calls, double seconds) {
    for (int i = 0; i < calls; ++i) way.note_call(bytes, seconds);
}

TEST(FasterWay, is_by_calls_while_these_need_not_wait) {
    FasterWay way;
    EXPECT_FALSE(way.is_mapping());
    note_calls(way, 10, alone_s);
    EXPECT_FALSE(way.is_mapping());
}

TEST(FasterWay, is_by_calls_where_only_some_were_long_because_another_process_had_the_core) {
    FasterWay way;
    for (int i = 0; i < 20; ++i) {
        way.note_call(bytes, i % 4 == 0 ? alone_s : queued_s);
        EXPECT_FALSE(way.is_mapping());
    }
}

TEST(FasterWay, is_tried_where_calls_wait_for_each_other_and_kept_if_it_is_faster) {
    FasterWay way;
    note_calls(way, 3, queued_s);
    EXPECT_FALSE(way.is_mapping()) << "too early to tell";
    note_calls(way, 1, queued_s);
    EXPECT_TRUE(way.is_mapping());
    way.note_mapping(bytes, mapping_s);
    EXPECT_TRUE(way.is_mapping());
}

TEST(FasterWay, is_left_when_the_other_one_is) {
    FasterWay way;
    note_calls(way, 4, queued_s);
    way.note_mapping(bytes, queued_s);
    EXPECT_TRUE(way.is_mapping()) << "once does not tell";
    way.note_mapping(bytes, queued_s);
    EXPECT_FALSE(way.is_mapping()) << "as fast is not faster";
    note_calls(way, 4, 2 * queued_s);
    EXPECT_TRUE(way.is_mapping()) << "calls have become slower";
    for (int i = 0; i < 4; ++i) way.note_mapping(bytes, 4 * queued_s);
    EXPECT_FALSE(way.is_mapping());
}

TEST(FasterWay, is_by_calls_where_mappings_are_fast_only_now_and_then) {
    FasterWay way;
    note_calls(way, 4, queued_s);
    way.note_mapping(bytes, mapping_s);
    for (int i = 0; i < 3; ++i) way.note_mapping(bytes, 4 * queued_s);
    EXPECT_FALSE(way.is_mapping());
}

TEST(FasterWay, is_found_out_apart_for_few_ranks_and_many) {
    constexpr dev_t device = 1;
    auto const many = faster_way_for(device, 16);
    note_calls(*many, 4, queued_s);
    EXPECT_TRUE(faster_way_for(device, 16)->is_mapping());
    EXPECT_FALSE(faster_way_for(device, 2)->is_mapping());
}

}  // namespace
}  // namespace unisono
