#include "explain/pattern.hpp"

#include <gtest/gtest.h>

#include <map>

#include "access/copy.hpp"

namespace unisono {
namespace {

std::vector<Realm> requests_of(std::string_view name, std::uint32_t ranks) {
    auto const& pattern = *find_pattern(name);
    return pattern.requests({.ranks = ranks, .piece_bytes = pattern.piece_bytes});
}

// Per file byte, how many ranks ask for it.
std::map<std::uint64_t, int> askers(std::vector<Realm> const& requests) {
    std::map<std::uint64_t, int> count;
    for (auto const& request : requests)
        walk(request.tiling, request.positions, [&](std::int64_t offset, std::uint64_t bytes) {
            for (std::uint64_t i = 0; i < bytes; ++i)
                ++count[static_cast<std::uint64_t>(offset) + i];
        });
    return count;
}

TEST(Pattern, each_byte_is_asked_for_by_one_rank_and_none_is_left_out) {
    for (auto const* name : {"contiguous", "strided", "block-3d", "lattice", "irregular"})
        for (std::uint32_t const ranks : {1, 6, 8}) {
            SCOPED_TRACE(std::string{name} + ", ranks " + std::to_string(ranks));
            auto const count = askers(requests_of(name, ranks));
            EXPECT_EQ(count.begin()->first, 0u);
            EXPECT_EQ(count.rbegin()->first + 1, count.size());
            for (auto const& [offset, ranks_asking] : count) ASSERT_EQ(ranks_asking, 1) << offset;
        }
}

TEST(Pattern, hpio_leaves_holes_as_long_as_its_pieces) {
    auto const requests =
        find_pattern("hpio")->requests({.ranks = 2, .piece_bytes = 4, .bytes = 16});
    auto const count = askers(requests);
    EXPECT_EQ(count.size(), 16u);
    for (auto const& [offset, ranks_asking] : count) EXPECT_LT(offset % 8, 4u);
}

TEST(Pattern, tiles_overlap) {
    auto const count = askers(requests_of("tile", 4));
    EXPECT_TRUE(std::ranges::any_of(count, [](auto const& byte) { return byte.second > 1; }));
    EXPECT_EQ(count.rbegin()->first + 1, count.size());
}

TEST(Pattern, bytes_are_rounded_to_whole_pieces) {
    auto const requests =
        find_pattern("strided")->requests({.ranks = 3, .piece_bytes = 100, .bytes = 1000});
    for (auto const& request : requests) EXPECT_EQ(request.bytes(), 300u);
}

}  // namespace
}  // namespace unisono
