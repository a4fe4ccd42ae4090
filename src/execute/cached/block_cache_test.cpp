#include "execute/cached/block_cache.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <random>

#include "access/copy.hpp"
#include "execute/cached/own_writes.hpp"

namespace unisono {

static bool operator==(BlockTable::Entry const& a, BlockTable::Entry const& b) {
    return a.block == b.block && a.slot == b.slot;
}

namespace {

using Entries = std::vector<BlockTable::Entry>;

TEST(BlockTable, blocks_go_round_the_aggregators_and_stay_where_they_are) {
    BlockTable table{3, 2};
    EXPECT_EQ(table.room(), 6u);
    EXPECT_TRUE(table.place({0, 6}).empty());
    EXPECT_EQ(table.owner(4), 1u);
    EXPECT_EQ(table.slot_of(1), 0u);
    EXPECT_EQ(table.slot_of(4), 1u);
    EXPECT_TRUE(table.place({1, 2}).empty());
    EXPECT_EQ(table.slot_of(1), 0u);
    EXPECT_FALSE(table.slot_of(6));
}

TEST(BlockTable, the_block_that_was_not_used_for_longest_makes_room) {
    BlockTable table{1, 3};
    table.place({10, 13});  // slots 0, 1, 2
    table.place({10, 11});  // so 11 is the oldest
    EXPECT_EQ(table.place({20, 21}), (Entries{{11, 1}}));
    EXPECT_EQ(table.slot_of(20), 1u);
    EXPECT_FALSE(table.slot_of(11));
    EXPECT_EQ(table.entries(0), (Entries{{10, 0}, {12, 2}, {20, 1}}));
}

TEST(BlockTable, a_call_never_replaces_its_own_blocks) {
    BlockTable table{2, 2};
    table.place({0, 4});
    EXPECT_EQ(table.place({2, 6}), (Entries{{0, 0}, {1, 0}}));
    for (std::uint64_t block = 2; block < 6; ++block) EXPECT_TRUE(table.slot_of(block));
}

TEST(BlockTable, tells_how_many_slots_a_call_will_need) {
    BlockTable table{2, 4};
    table.place({0, 3});
    EXPECT_EQ(table.slots_after(0, {2, 5}), 3u);  // 0 and 2 are there, 4 is not
    EXPECT_EQ(table.slots_after(1, {2, 5}), 2u);
    EXPECT_EQ(table.slots_after(0, {0, 1000}), 4u);
    table.clear();
    EXPECT_EQ(table.slots_after(0, {7, 7}), 0u);
}

TEST(BlockTable, what_is_released_is_used_again_before_there_is_more) {
    BlockTable table{2, 4};
    table.place({0, 4});
    auto const released = table.release({1, 3});
    ASSERT_EQ(released.size(), 2u);
    EXPECT_EQ(released[0].block, 1u);
    EXPECT_EQ(released[1].block, 2u);
    EXPECT_FALSE(table.slot_of(1));
    EXPECT_EQ(table.slots_after(0, {4, 5}), 2u);
    EXPECT_TRUE(table.place({4, 6}).empty());
    EXPECT_EQ(table.slot_of(4), released[1].slot);
    EXPECT_EQ(table.slot_of(5), released[0].slot);
    EXPECT_EQ(table.slots_after(0, {6, 9}), 4u);
    EXPECT_TRUE(table.place({6, 10}).empty());
    EXPECT_EQ(table.place({10, 11}).size(), 1u);
}

class BlockBufferTest : public testing::Test {
protected:
    static constexpr std::uint64_t block_bytes = 200;
    void dirty(std::uint64_t begin, std::uint64_t end) {
        auto covered = buffer.dirty();
        Coverage::Marker{covered}.mark(begin, end - begin);
    }
    void want(std::uint64_t begin, std::uint64_t end) {
        auto covered = buffer.wanted();
        Coverage::Marker{covered}.mark(begin, end - begin);
    }

    alignas(64) std::array<std::byte, 4096> memory{};
    BlockBuffer buffer{memory.data(), block_bytes};
};

using Ranges = std::vector<BufferRange>;

TEST_F(BlockBufferTest, only_dirty_bytes_are_taken_and_once) {
    ASSERT_LE(BlockBuffer::bytes_needed(block_bytes), memory.size());
    dirty(3, 70);
    dirty(60, 64);
    dirty(199, 200);
    EXPECT_EQ(buffer.take_dirty(), (Ranges{{3, 70}, {199, 200}}));
    EXPECT_TRUE(buffer.take_dirty().empty());
    EXPECT_EQ(buffer.known({0, 200}), (Ranges{{3, 70}, {199, 200}}));
}

TEST_F(BlockBufferTest, what_was_written_is_told_from_what_was_read) {
    dirty(3, 70);
    EXPECT_EQ(buffer.take_dirty(), (Ranges{{3, 70}}));
    dirty(100, 110);
    EXPECT_EQ(buffer.written({0, 200}), (Ranges{{3, 70}, {100, 110}}));
    buffer.mark_valid({80, 90});
    EXPECT_EQ(buffer.written({0, 200}), (Ranges{{3, 70}, {100, 110}}));
    buffer.forget();
    EXPECT_TRUE(buffer.written({0, 200}).empty());
}

TEST_F(BlockBufferTest, nothing_is_read_that_is_there_or_that_nobody_wants) {
    dirty(10, 20);
    buffer.mark_valid({64, 128});
    want(0, 15);
    want(100, 150);
    EXPECT_EQ(buffer.take_missing({0, 200}), (Ranges{{0, 10}, {128, 150}}));
    EXPECT_TRUE(buffer.take_missing({0, 200}).empty());
}

TEST_F(BlockBufferTest, what_is_filled_from_the_begin_on_is_known_without_marks) {
    EXPECT_EQ(buffer.unknown(150), (Ranges{{0, 150}}));
    buffer.mark_valid({100, 120});
    EXPECT_EQ(buffer.unknown(150), (Ranges{{0, 100}, {120, 150}}));
    buffer.set_filled_end(70, /*stopped=*/false);
    dirty(80, 90);
    EXPECT_EQ(buffer.unknown(150), (Ranges{{70, 80}, {90, 100}, {120, 150}}));
    EXPECT_EQ(buffer.known({10, 200}), (Ranges{{10, 70}, {80, 90}, {100, 120}}));
    want(60, 82);
    EXPECT_EQ(buffer.take_missing({60, 82}), (Ranges{{70, 80}}));
    EXPECT_TRUE(buffer.unknown(70).empty());
    buffer.forget();
    EXPECT_EQ(buffer.unknown(200), (Ranges{{0, 200}}));
    EXPECT_TRUE(buffer.known({0, 200}).empty());
}

TEST_F(BlockBufferTest, one_has_it_at_a_time) {
    std::unique_lock lock{buffer, std::try_to_lock};
    EXPECT_TRUE(lock);
    EXPECT_FALSE(buffer.try_lock());
    lock.unlock();
    EXPECT_TRUE(buffer.try_lock());
    buffer.unlock();
}

TEST_F(BlockBufferTest, is_full_when_every_byte_has_been_stored) {
    auto const data = std::vector<std::byte>(block_bytes, std::byte{7});
    buffer.store(data.data(), {0, 130});
    EXPECT_FALSE(buffer.full());
    buffer.mark_valid({130, 199});
    EXPECT_FALSE(buffer.full());
    buffer.store(data.data(), {130, block_bytes});
    EXPECT_TRUE(buffer.full());
    EXPECT_EQ(buffer.take_dirty(), (Ranges{{0, block_bytes}}));
    EXPECT_FALSE(buffer.full());
    EXPECT_EQ(memory[block_bytes - 1], std::byte{7});
}

TEST_F(BlockBufferTest, is_not_full_when_bytes_were_stored_twice) {
    auto const data = std::vector<std::byte>(block_bytes);
    buffer.store(data.data(), {0, 130});
    buffer.store(data.data(), {0, 130});
    EXPECT_FALSE(buffer.full());
    EXPECT_EQ(buffer.known({5, 9}), (Ranges{{5, 9}}));
    buffer.forget();
    EXPECT_TRUE(buffer.known({0, 200}).empty());
}

std::vector<std::byte> bytes(std::size_t count, int value) {
    return std::vector<std::byte>(count, std::byte(value));
}

TEST(OwnWrites, the_latest_value_of_each_byte_lies_over_the_file) {
    OwnWrites own;
    own.put(4090, bytes(10, 1).data(), 10, false);
    own.put(4095, bytes(2, 2).data(), 2, true);
    auto read = bytes(12, 9);
    own.overlay(4089, read.data(), 12);
    auto expected = bytes(12, 1);
    expected[0] = expected[11] = std::byte{9};
    expected[6] = expected[7] = std::byte{2};
    EXPECT_EQ(read, expected);
}

TEST(OwnWrites, any_pieces_in_any_order_are_kept_to_the_byte) {
    constexpr std::size_t size = 10000;
    std::mt19937 random{7};
    OwnWrites own;
    std::vector<std::byte> model(size);
    std::vector<bool> again(size);
    for (int piece = 1; piece < 300; ++piece) {
        auto const begin = random() % size;
        auto const length = 1 + random() % std::min<std::size_t>(size - begin, 1U << random() % 13);
        bool const in_file = random() % 2 == 0;
        own.put(begin, bytes(length, piece % 255 + 1).data(), length, in_file);
        for (auto at = begin; at < begin + length; ++at) {
            model[at] = std::byte(piece % 255 + 1);
            again[at] = in_file;
        }
    }
    auto read = bytes(size, 0);
    own.overlay(0, read.data(), size);
    EXPECT_EQ(read, model);
    std::vector<bool> rewritten(size);
    for (auto const& [offset, memory, length] : own.to_rewrite())
        for (auto at = offset; at < offset + length; ++at) {
            rewritten[at] = true;
            ASSERT_EQ(memory[at - offset], model[at]);
        }
    EXPECT_EQ(rewritten, again);
}

TEST(OwnWrites, independent_writes_are_written_once_more_unless_overwritten) {
    OwnWrites own;
    own.put(100, bytes(50, 1).data(), 50, true);
    EXPECT_TRUE(own.any_in_file());
    own.put(110, bytes(10, 2).data(), 10, false);
    auto const list = own.to_rewrite();
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].offset, 100u);
    EXPECT_EQ(list[0].bytes, 10u);
    EXPECT_EQ(list[1].offset, 120u);
    EXPECT_EQ(list[1].bytes, 30u);
    own.clear();
    EXPECT_FALSE(own.any_in_file());
    EXPECT_EQ(own.memory_bytes(), 0u);
}

TEST(OwnWrites, the_memory_of_a_write_is_foreseen) {
    Tiling const sparse{make_dense(8), 4000, 10000};
    Tiling const dense{make_dense(1), 5, 1};
    for (auto const& [view, positions] :
         {std::pair{sparse, Positions{0, 800}}, std::pair{dense, Positions{0, 100000}}}) {
        OwnWrites own;
        walk(view, positions, [&](std::int64_t offset, std::uint64_t length) {
            own.put(std::uint64_t(offset), bytes(length, 1).data(), length, false);
        });
        EXPECT_LE(own.memory_bytes(), OwnWrites::memory_bytes_for(view, positions));
        EXPECT_LE(OwnWrites::memory_bytes_for(view, positions), 3 * own.memory_bytes());
    }
}

}  // namespace
}  // namespace unisono
