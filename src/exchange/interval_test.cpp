#include <gtest/gtest.h>

#include <type_traits>

#include "exchange/piece_list.hpp"
#include "unisono/realm.hpp"

namespace unisono {
namespace {

// What compiles for two intervals of one kind must not for two of different kinds: a file offset
// passed as a position is the off-by-a-stripe that no test of contiguous data notices.
template <class A, class B>
concept mix = std::is_convertible_v<A, B> || std::is_constructible_v<B, A> ||
    std::is_assignable_v<B&, A> || requires(A a, B b) {
    a == b;
} || requires(A a, B b) {
    intersect(a, b);
} || requires(A a, B b) {
    hull(a, b);
};
static_assert(mix<Extent, Extent> && mix<Positions, Positions> && mix<BufferRange, BufferRange>);
static_assert(!mix<Extent, Positions> && !mix<Positions, Extent>);
static_assert(!mix<Extent, BufferRange> && !mix<BufferRange, Extent>);
static_assert(!mix<Positions, BufferRange> && !mix<BufferRange, Positions>);

template <class In, class Window>
concept has_part = requires(Tiling const& tiling, In in, Window window) {
    within(tiling, in, window);
};
static_assert(has_part<Positions, Extent>);
static_assert(!has_part<Extent, Positions> && !has_part<Extent, Extent>);
static_assert(!has_part<Positions, Positions>);

template <class In>
concept has_place = requires(Tiling const& tiling, In in) {
    touched(tiling, in);
};
static_assert(has_place<Positions> && !has_place<Extent>);

template <class In>
concept cuts_a_realm = requires(Realm const& realm, In in) {
    within(realm, in);
};
static_assert(cuts_a_realm<Extent> && !cuts_a_realm<Positions>);

template <class In>
concept is_piece_of_a_window = requires(PieceList::Writer& list, In in) {
    list.add(in);
};
static_assert(is_piece_of_a_window<BufferRange> && !is_piece_of_a_window<Extent>);

TEST(Interval, common_part_may_be_empty_and_the_hull_leaves_empty_ones_out) {
    EXPECT_EQ(intersect(Extent{0, 10}, {5, 20}), (Extent{5, 10}));
    EXPECT_TRUE(intersect(Extent{0, 10}, {10, 20}).empty());
    EXPECT_EQ(intersect(Extent{0, 5}, {10, 20}).bytes(), 0u);
    EXPECT_EQ(hull(Positions{0, 2}, {7, 9}), (Positions{0, 9}));
    EXPECT_EQ(hull(Positions{100, 100}, {7, 9}), (Positions{7, 9}));
    EXPECT_EQ(hull(Positions{7, 9}, {0, 0}), (Positions{7, 9}));
}

}  // namespace
}  // namespace unisono
