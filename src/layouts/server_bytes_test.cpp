#include "layouts/server_bytes.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

using Bytes = std::vector<std::uint64_t>;

// units of 10 over servers 0 1 2: [5, 45) = 5 of server 0, 10 of 1, 10 of 2, 10 of 0, 5 of 1
TEST(ServerBytes, are_those_of_the_units_that_an_extent_touches) {
    auto const layout = Layout::of("hints", {Striping::round_robin(10, {0, 1, 2})});
    Bytes bytes;
    add_server_bytes(bytes, layout, {5, 45});
    EXPECT_EQ(bytes, (Bytes{15, 15, 10}));
    add_server_bytes(bytes, layout, {20, 21});
    EXPECT_EQ(bytes, (Bytes{15, 15, 11})) << "they add up";
}

// The first component ends within its second unit: bytes 4 and 5 were counted for its server.
TEST(ServerBytes, of_a_unit_that_a_component_cuts_off_end_there) {
    auto const layout =
        Layout::of("lustre", {Striping::round_robin(3, {0}, 4), Striping::round_robin(3, {0, 1})});
    EXPECT_EQ(layout.unit_end(3), 4u);
    Bytes bytes;
    add_server_bytes(bytes, layout, {0, 6});
    EXPECT_EQ(bytes,
              (Bytes{layout.bytes_of(0, {0, 6}).bytes(), layout.bytes_of(1, {0, 6}).bytes()}));
    EXPECT_EQ(bytes, (Bytes{4, 2}));
}

TEST(ServerBytes, are_not_known_without_a_layout) {
    Bytes bytes;
    add_server_bytes(bytes, Layout::unknown("local", "one node"), {0, 100});
    EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace unisono
