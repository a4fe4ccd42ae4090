#include "exchange/stall.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace unisono {
namespace {

using Finding = StallObserver::Finding;

enum Operation : std::uint16_t { write_all, write_at_all, read_all, close };
enum Matching : std::uint16_t { writes, reads, closes };

CallWords words() {
    return {
        .operation =
            [](std::uint16_t operation) {
                return std::array{"write_all", "write_at_all", "read_all", "close"}.at(operation);
            },
        .file = [](std::uint32_t file) { return "file" + std::to_string(file); },
        .is_last = [](std::uint16_t operation) { return operation == close; }};
}

constexpr CallTag a_write{.file = 1, .operation = write_all, .matching = writes};
constexpr CallTag a_read{.file = 1, .operation = read_all, .matching = reads};
constexpr CallTag a_close{.file = 1, .operation = close, .matching = closes};

CallSeen in_call(std::uint64_t number, CallTag tag = a_write) {
    return {.tag = tag, .number = number, .offset = 64, .inside = true};
}
CallSeen after_call(std::uint64_t number, CallTag tag = a_write) {
    return {.tag = tag, .number = number, .offset = 0};
}

NodeSeen seen_by(std::size_t me, std::vector<CallSeen> calls) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < calls.size(); ++i) ranks.push_back(10 + i);
    return {.calls = std::move(calls), .ranks = std::move(ranks), .me = me};
}

constexpr double limit_s = 30;

// The first finding of one look a second at a node that stays as it is, and when it was.
struct Found {
    Finding finding = Finding::none;
    int after_s = 0;
    friend bool operator==(Found const&, Found const&) = default;
};
Found first_finding(StallObserver& observer, NodeSeen const& seen, int seconds = 100) {
    for (int i = 0; i < seconds; ++i)
        if (auto const finding = observer.look(seen, 1, limit_s, words()); finding != Finding::none)
            return {finding, i};
    return {};
}
Found first_finding(NodeSeen const& seen) {
    StallObserver observer{1};
    return first_finding(observer, seen);
}

TEST(Stall, is_found_after_the_limit_and_once) {
    StallObserver observer{1};
    auto const seen = seen_by(0, {in_call(2), after_call(1)});
    EXPECT_EQ(first_finding(observer, seen), (Found{Finding::long_wait, 30}));
    EXPECT_EQ(observer.waited_s(), 30);
    EXPECT_EQ(first_finding(observer, seen), Found{});
}

TEST(Stall, is_found_again_in_the_next_call) {
    StallObserver observer{1};
    EXPECT_NE(first_finding(observer, seen_by(0, {in_call(2), after_call(1)})), Found{});
    EXPECT_EQ(first_finding(observer, seen_by(0, {in_call(3), after_call(2)})).finding,
              Finding::long_wait);
}

TEST(Stall, is_none_while_a_rank_computes_for_less_than_the_limit) {
    StallObserver observer{1};
    auto const waiting = seen_by(0, {in_call(2), after_call(1)});
    for (std::uint64_t call = 2; call < 10; ++call) {
        auto seen = waiting;
        seen.calls[0].number = call;
        EXPECT_EQ(first_finding(observer, seen, 29), Found{}) << call;
    }
}

TEST(Stall, is_none_while_this_rank_gets_on_with_the_call) {
    StallObserver observer{1};
    auto seen = seen_by(0, {in_call(2), in_call(2)});
    for (int i = 0; i < 10; ++i) {
        ++seen.calls[0].progress;
        EXPECT_EQ(first_finding(observer, seen, 29), Found{});
    }
}

TEST(Stall, is_none_outside_of_calls_on_other_files_and_while_the_file_is_slow) {
    EXPECT_EQ(first_finding(seen_by(0, {after_call(2), in_call(3)})), Found{});
    StallObserver of_another_file{2};
    EXPECT_EQ(first_finding(of_another_file, seen_by(0, {in_call(2), after_call(1)})), Found{});
    auto slow = seen_by(0, {in_call(2), in_call(2), after_call(2)});
    slow.calls[0].accesses = true;
    EXPECT_EQ(first_finding(slow), Found{});
    slow.calls[2].number = 1;  // somebody is missing, whom rank 1 waits for
    EXPECT_EQ(first_finding(slow), Found{});
    slow.calls[1].accesses = true;
    EXPECT_EQ(first_finding(slow).finding, Finding::long_wait);
}

TEST(Stall, is_told_by_the_lowest_rank_that_waits) {
    std::vector<CallSeen> calls{after_call(1), in_call(2), in_call(2)};
    EXPECT_EQ(first_finding(seen_by(1, calls)).finding, Finding::long_wait);
    EXPECT_EQ(first_finding(seen_by(2, calls)), Found{});
    calls[1].accesses = true;
    EXPECT_EQ(first_finding(seen_by(2, calls)).finding, Finding::long_wait);
}

TEST(Stall, that_cannot_end_is_found_at_once) {
    Found const at_once{Finding::no_end, 1};
    EXPECT_EQ(first_finding(seen_by(0, {in_call(2), in_call(2, a_read)})), at_once);
    EXPECT_EQ(first_finding(seen_by(0, {in_call(2), after_call(2, a_close)})), at_once);
    EXPECT_EQ(first_finding(seen_by(0, {in_call(3), after_call(2, a_close)})), at_once);
    // Who has been in the same close is none of these, nor who closed another file or is behind.
    EXPECT_EQ(first_finding(seen_by(0, {in_call(2, a_close), after_call(2, a_close)})).after_s, 30);
    auto other = a_close;
    other.file = 2;
    EXPECT_EQ(first_finding(seen_by(0, {in_call(2), after_call(2, other)})).after_s, 30);
    EXPECT_EQ(first_finding(seen_by(0, {in_call(2), in_call(1, a_read)})).after_s, 30);
}

TEST(Stall, of_a_whole_node_is_told_later_and_by_few_nodes) {
    auto seen = seen_by(0, {in_call(2), in_call(2)});
    seen.nodes = 100;
    for (seen.node = 0; seen.node < seen.nodes; ++seen.node) {
        auto const speaks = std::set<std::size_t>{0, 1, 2, 4, 8, 16, 32, 64}.contains(seen.node);
        EXPECT_EQ(first_finding(seen), (speaks ? Found{Finding::long_wait, 33} : Found{}))
            << seen.node;
    }
    seen.node = 3;
    seen.calls[1] = after_call(1);
    EXPECT_EQ(first_finding(seen).after_s, 30);
}

TEST(Stall, says_who_is_where) {
    auto const at = a_write;
    std::vector<CallSeen> calls{in_call(2, at), after_call(1), in_call(2), in_call(2),
                                in_call(1),     CallSeen{},    in_call(2)};
    calls[4].tag.file = 7;
    calls[6].accesses = true;
    EXPECT_EQ(describe_stall(seen_by(0, calls), 30, words()),
              "unisono: rank 10 has been for 30 s in write_all, collective call 2 on file1, "
              "offset 64; ranks 10, 12-13: in it; rank 11: in no collective call; the last was "
              "write_all, collective call 1 on file1, offset 0; rank 14: in write_all, collective "
              "call 1 on file7, offset 64; rank 15: not yet in any collective call; rank 16: in "
              "it, accessing the file or waiting for its turn to");
}

TEST(Stall, says_that_other_nodes_cannot_be_seen) {
    auto seen = seen_by(0, {in_call(2, a_close)});
    seen.calls[0].offset = CallSeen::no_offset;
    seen.nodes = 2;
    EXPECT_EQ(describe_stall(seen, 33, words()),
              "unisono: rank 10 has been for 33 s in close, collective call 2 on file1; rank 10: "
              "in it; ranks on other nodes cannot be seen from here");
}

TEST(Difference, says_who_differs_from_whom) {
    EXPECT_EQ(describe_difference({3, 5, a_write, a_read}, words()),
              "rank 5 has called read_all on file1 where rank 3 has called write_all on file1");
}

}  // namespace
}  // namespace unisono
