// Kernels' reading ahead, against traces that were derived by hand from their sources: windows of
// 128 KiB (32 pages), and requests of a stripe (16 pages) unless said.
#include "model/read_ahead.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace unisono::testbed {
namespace {

constexpr std::uint64_t limit = 32;
constexpr std::uint64_t file_end = 100'000;

class Memory final : public PagesInMemory {
public:
    [[nodiscard]] bool has(std::uint64_t page) const override { return pages_.contains(page); }
    std::uint64_t read(PageRange range) override {
        std::uint64_t absent = 0;
        for (auto page = range.begin; page < range.end; ++page) {
            if (!pages_.insert(page).second) continue;
            auto const begin = page;
            while (page + 1 < range.end && pages_.insert(page + 1).second) ++page;
            absent += page + 1 - begin;
            said_ +=
                (said_.empty() ? "" : " ") + std::to_string(begin) + "-" + std::to_string(page + 1);
        }
        return absent;
    }
    void forget(std::uint64_t page) { pages_.erase(page); }
    std::string said() { return std::exchange(said_, {}); }

private:
    std::set<std::uint64_t> pages_;
    std::string said_;
};

// A file that begins with page 0.
class Reader {
public:
    explicit Reader(ReadAheadKind kind, std::uint64_t end = file_end)
        : ahead_(make_read_ahead(kind)), end_(end) {}

    // What is read from the disk for it.
    std::string read(std::uint64_t begin, std::uint64_t pages = 16) {
        ahead_->on_read({begin, begin + pages},
                        {.at_start = begin == 0, .end = end_, .limit = limit}, memory);
        return memory.said();
    }

    Memory memory;

private:
    std::unique_ptr<ReadAhead> ahead_;
    std::uint64_t end_;
};

// First: the smallest power of two, 16, is more than a quarter of 32: a whole window. Second: there
// is none ahead yet. Third: it has come to the one ahead, which becomes the current one. Fourth:
// the one ahead begins with page 64 only.
TEST(ReadAhead, of_2_6_21_keeps_a_window_ahead_of_an_unbroken_stream) {
    Reader reader(ReadAheadKind::windows);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(16), "32-64");
    EXPECT_EQ(reader.read(32), "64-96");
    EXPECT_EQ(reader.read(48), "");
    EXPECT_EQ(reader.read(64), "96-128");
}

// No request begins where the one before it ended.
TEST(ReadAhead, of_2_6_21_reads_only_what_is_asked_for_in_pairs_of_the_wrong_order) {
    Reader reader(ReadAheadKind::windows);
    EXPECT_EQ(reader.read(16), "16-32");
    EXPECT_EQ(reader.read(0), "0-16");
    EXPECT_EQ(reader.read(48), "48-64");
    EXPECT_EQ(reader.read(32), "32-48");
}

// The second stream breaks the first one's order, and the first one's the second's.
TEST(ReadAhead, of_2_6_21_knows_no_two_streams_in_one_file) {
    Reader reader(ReadAheadKind::windows);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(1000), "1000-1016");
    EXPECT_EQ(reader.read(16), "");
    EXPECT_EQ(reader.read(1016), "1016-1032");
    EXPECT_EQ(reader.read(32), "32-48");
    EXPECT_EQ(reader.read(1032), "1032-1048");
}

// Small requests: 1 page is more than 32/64, so two (32/64 = 0); then twice as many each time, as 2
// is no less than 32/16.
TEST(ReadAhead, of_2_6_21_doubles_small_windows) {
    Reader reader(ReadAheadKind::windows);
    EXPECT_EQ(reader.read(0, 1), "0-2");
    EXPECT_EQ(reader.read(1, 1), "2-6");
    EXPECT_EQ(reader.read(2, 1), "6-14");
    EXPECT_EQ(reader.read(3, 1), "");
}

// A request of 64 pages: the first window and at once the one ahead; asked again at page 32, which
// is in the one ahead, it goes on to the next.
TEST(ReadAhead, of_2_6_21_has_two_windows_under_way_for_a_long_request) {
    Reader reader(ReadAheadKind::windows);
    EXPECT_EQ(reader.read(0, 64), "0-32 32-64 64-96");
}

// Each window is found in memory: 32 pages for the first, then 32 for each one ahead, until 256,
// with the request at 192. Then single pages are looked for: 300 is missing, which turns reading
// ahead on again, from 301 on (3 pages are left of the request: 4, twice that). That something was
// missing makes the next window 2 smaller instead of twice as large.
TEST(ReadAhead, of_2_6_21_gives_up_where_all_is_in_memory_and_begins_again_where_it_is_not) {
    Reader reader(ReadAheadKind::windows);
    reader.memory.read({0, 300});
    reader.memory.said();
    for (std::uint64_t page = 0; page < 288; page += 16) EXPECT_EQ(reader.read(page), "") << page;
    EXPECT_EQ(reader.read(288), "300-301 301-309");
    EXPECT_EQ(reader.read(304), "309-315 315-327");
}

TEST(ReadAhead, keeps_within_the_file) {
    for (auto const kind : {ReadAheadKind::windows, ReadAheadKind::on_demand,
                            ReadAheadKind::context, ReadAheadKind::careful_context}) {
        Reader reader(kind, 40);
        EXPECT_EQ(reader.read(0), "0-32");
        EXPECT_EQ(reader.read(16), "32-40");
        EXPECT_EQ(reader.read(32, 8), "");
    }
}

// The first window's mark is its page 16, behind what was asked for; each next one's its first.
TEST(ReadAhead, on_demand_reads_the_next_window_at_a_marked_page) {
    Reader reader(ReadAheadKind::on_demand);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(16), "32-64");
    EXPECT_EQ(reader.read(32), "64-96");
    EXPECT_EQ(reader.read(48), "");
}

// Streams at 0 and 1000. At 32 a marked page that the state knows nothing of any more would do;
// here the state is still the first stream's. The second never gets a mark: it is random reads.
TEST(ReadAhead, on_demand_goes_on_with_one_stream_and_never_learns_of_the_second) {
    Reader reader(ReadAheadKind::on_demand);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(1000), "1000-1016");
    EXPECT_EQ(reader.read(16), "32-64");
    EXPECT_EQ(reader.read(1016), "1016-1032");
    EXPECT_EQ(reader.read(32), "64-96");
    EXPECT_EQ(reader.read(1032), "1032-1048");
}

// At 1016: 16 pages before it are in memory, and 16 are asked for: a window of 32, which would be
// at its own mark at once, so the next 32 go with it; mark at 1048. At 32: a mark, and the state is
// the second stream's: the first page missing is 64, and the next window begins there. At 1048
// likewise.
TEST(ReadAhead, with_context_goes_on_with_both_streams) {
    Reader reader(ReadAheadKind::context);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(1000), "1000-1016");
    EXPECT_EQ(reader.read(16), "32-64");
    EXPECT_EQ(reader.read(1016), "1016-1080");
    EXPECT_EQ(reader.read(32), "64-96");
    EXPECT_EQ(reader.read(1032), "");
    EXPECT_EQ(reader.read(48), "");
    EXPECT_EQ(reader.read(1048), "1080-1112");
}

// At 1016 16 pages before it are no more than the 16 that are asked for: a random read. At 1032 it
// is 32: a window of min(32 + 16, 32), with the mark at its last page, 1063.
TEST(ReadAhead, with_careful_context_wants_more_traces_than_the_request_has_pages) {
    Reader reader(ReadAheadKind::careful_context);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(1000), "1000-1016");
    EXPECT_EQ(reader.read(16), "32-64");
    EXPECT_EQ(reader.read(1016), "1016-1032");
    EXPECT_EQ(reader.read(32), "64-96");
    EXPECT_EQ(reader.read(1032), "1032-1064");
    EXPECT_EQ(reader.read(1048), "1064-1096");
}

// At 3 the pages 0, 1 and 2 are there, back to the file's beginning, and so count twice: 6 and the
// 1 that is asked for make 8, twice that is the window, and the next (32) goes with it.
TEST(ReadAhead, with_context_trusts_traces_from_the_files_beginning_on_more) {
    Reader reader(ReadAheadKind::context);
    EXPECT_EQ(reader.read(0, 2), "0-4");
    EXPECT_EQ(reader.read(500, 1), "500-501");
    reader.memory.forget(3);
    EXPECT_EQ(reader.read(3, 1), "3-51");
}

// Memory was short: the window that was read ahead is gone, with its mark. The kernel takes 16 for
// the stream where it expects it, reads the window behind, then the page itself; page 17 is a
// random read of what is left of the request.
TEST(ReadAhead, on_demand_moves_on_although_the_window_has_left_the_memory) {
    Reader reader(ReadAheadKind::on_demand);
    EXPECT_EQ(reader.read(0), "0-32");
    EXPECT_EQ(reader.read(500), "500-516");
    for (std::uint64_t page = 16; page < 32; ++page) reader.memory.forget(page);
    EXPECT_EQ(reader.read(16), "32-64 16-17 17-32");
}

TEST(ReadAhead, of_no_pages_is_off) {
    Memory memory;
    for (auto const kind : {ReadAheadKind::windows, ReadAheadKind::context})
        make_read_ahead(kind)->on_read({0, 16}, {.at_start = true, .end = 100, .limit = 0}, memory);
    EXPECT_EQ(memory.said(), "");
}

}  // namespace
}  // namespace unisono::testbed
