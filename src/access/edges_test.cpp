#include "access/edges.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace unisono {
namespace {

EdgeSum sum_of(std::vector<Extent> const& extents) {
    EdgeSum edges;
    for (auto const& extent : extents) edges.add(extent.begin, extent.end);
    return edges;
}

TEST(Edges, of_pieces_end_to_end_are_those_of_the_whole) {
    EXPECT_EQ(sum_of({{0, 8}, {8, 20}, {20, 21}}), sum_of({{0, 21}}));
    EXPECT_EQ(sum_of({{8, 20}, {20, 21}, {0, 8}}), sum_of({{0, 21}}));
    EXPECT_EQ(sum_of({}), EdgeSum{});
}

TEST(Edges, tell_a_hole_beside_an_overlap_of_the_same_length) {
    EXPECT_NE(sum_of({{0, 8}, {0, 8}, {16, 24}}), sum_of({{0, 24}}));
    EXPECT_NE(sum_of({{0, 9}, {8, 16}, {17, 24}}), sum_of({{0, 24}}));
    EXPECT_NE(sum_of({{0, 16}, {8, 16}}), sum_of({{0, 24}}));
}

// The offsets 0 to 2^k - 1 in two halves, by the parity of their bits, have equal sums of their
// powers up to k - 1: a sum of polynomials would not tell beginnings in one from ends in the other.
TEST(Edges, tell_apart_offsets_whose_powers_have_equal_sums) {
    for (std::uint64_t const unit : {1, 8, 4096})
        for (unsigned k = 2; k <= 12; ++k) {
            EdgeSum edges;
            std::vector<std::uint64_t> begins;
            std::vector<std::uint64_t> ends;
            for (std::uint64_t i = 0; i < (1U << k); ++i)
                (std::popcount(i) % 2 == 0 ? begins : ends).push_back(i * unit);
            for (std::size_t i = 0; i < begins.size(); ++i) edges.add(begins[i], ends[i]);
            EXPECT_NE(edges, EdgeSum{}) << unit << " " << k;
        }
}

TEST(Edges, of_a_view_are_those_of_its_pieces_wherever_it_is_cut) {
    auto const shape =
        make_blocks(std::vector<std::int64_t>{2, 9, 30}, std::vector<std::uint64_t>{3, 5, 1});
    Tiling const view{shape, 100, 40};
    auto const bytes = 2 * shape->bytes;
    for (std::uint64_t cut = 0; cut <= bytes; ++cut) {
        auto both = edges_of(view, {0, cut});
        auto const rest = edges_of(view, {cut, bytes});
        for (std::size_t i = 0; i < both.sum.size(); ++i) both.sum[i] += rest.sum[i];
        EXPECT_EQ(both,
                  sum_of({{102, 105}, {109, 114}, {130, 131}, {142, 145}, {149, 154}, {170, 171}}))
            << cut;
    }
}

}  // namespace
}  // namespace unisono
