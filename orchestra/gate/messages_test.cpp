#include "orchestra/gate/messages.hpp"

#include <gtest/gtest.h>

#include <random>

#include "orchestra/mutated.hpp"

namespace unisono::orchestra {
namespace {

std::vector<NodeEvent> sample() {
    using Kind = NodeEvent::Kind;
    return {{.kind = Kind::taken, .slot = 3, .program = "slurm:7.1"},
            {.kind = Kind::held,
             .slot = 3,
             .token = 9,
             .age = 1500,
             .disk_address = {2, LocalityKind::fiemap, ~std::uint64_t{0}, 4096},
             .file = 77},
            {.kind = Kind::released, .slot = 3, .token = 9, .age = 20},
            {.kind = Kind::finished, .slot = 3, .token = 9},
            {.kind = Kind::waits, .slot = 3},
            {.kind = Kind::left, .slot = 3}};
}

TEST(NodeMessages, events_are_read_as_they_were_shown) {
    auto const text = show(sample());
    EXPECT_EQ(text,
              "t 3 slurm:7.1\nh 3 9 1500 2 1 18446744073709551615 4096 77\nr 3 9 20\nf 3 9 0\n"
              "w 3\nl 3\n");
    auto const read = parse_events(text);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 6U);
    EXPECT_EQ(show(*read), text);
    EXPECT_EQ((*read)[1].disk_address.kind, LocalityKind::fiemap);
    EXPECT_TRUE(parse_events(""));
}

TEST(NodeMessages, what_is_malformed_or_cannot_be_is_refused) {
    for (auto const* text :
         {"t 3 a", "x 1\n", "t 1\n", "t 1 two words\n", "t -1 a\n", "l 1 2\n", "w 1 2\n", "f 1 2\n",
          "f 1 2 -5\n", "f 1 2 99999999999999999999\n", "e 1 2 3 1024 0 0 0 0\n",
          "e 1 2 3 0 9 0 0 0\n", "e 1 2 3 0 0 0 0\n", "e 1  2 3 0 0 0 0 0\n", "\n"})
        EXPECT_FALSE(parse_events(text)) << text;
    for (auto const* text :
         {"", "unisono-node-daemon-2", "unisono-node-daemon-1 node", "unisono-node-daemon-2 a b"})
        EXPECT_FALSE(parse_hello(text)) << text;
    for (auto const* text : {"", "only\n", "only 1", "never 1\n", "only 10000000001\n",
                             "only 1 2\n", "only 1\ntwo words\n", "only 1\n\n"})
        EXPECT_FALSE(parse_turnover(text)) << text;
}

TEST(NodeMessages, turns_are_read_as_they_were_shown) {
    Turnover const turn{{Admitted::Kind::all_but, {"a", "b:2"}}, second, false};
    auto const read = parse_turnover(show(turn));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->admitted, turn.admitted);
    EXPECT_EQ(read->lease, second);
    EXPECT_FALSE(read->over);
    EXPECT_TRUE(parse_turnover(show(Turnover{.over = true}))->over);
    EXPECT_EQ(parse_hello(show(NodeDaemonHello{"node-1.cluster"}))->node, "node-1.cluster");
}

// Whatever comes is read or refused.
TEST(NodeMessages, broken_ones_do_no_harm) {
    auto const whole = show(sample());
    std::mt19937 dice(6);
    std::size_t accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        auto const text = mutated(whole, dice);
        auto const read = parse_events(text);
        accepted += read ? 1 : 0;
        if (!read) continue;
        for (auto const& event : *read) EXPECT_LT(event.disk_address.server, 1024U);
        parse_turnover(text);
    }
    EXPECT_GT(accepted, 100U);
    EXPECT_LT(accepted, 15'000U);
}

}  // namespace
}  // namespace unisono::orchestra
