#include "layouts/striping_note.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "layouts/byte_units.hpp"

namespace unisono {
namespace {

Layout striped(std::uint64_t unit, std::uint32_t count) {
    std::vector<std::uint32_t> servers(count);
    std::iota(servers.begin(), servers.end(), 0);
    return Layout::of("lustre", {Striping::round_robin(unit, servers)});
}

TEST(StripingNote, a_large_shared_file_on_one_server_is_told) {
    EXPECT_EQ(striping_note(striped(1024 * kib, 1), gib, 4),
              "striping hurts: all of the file is on one data server; give striping_factor for the "
              "next one, or stripe its folder");
}

TEST(StripingNote, stripes_so_large_that_servers_have_nothing_are_told) {
    EXPECT_EQ(striping_note(striped(gib / 2, 8), gib, 4),
              "striping hurts: stripes of 512 MiB put the file on 2 of 8 data servers; give a "
              "smaller striping_unit for the next one");
}

TEST(StripingNote, tiny_stripes_are_told) {
    EXPECT_EQ(striping_note(striped(4 * kib, 8), gib, 4),
              "striping hurts: stripes of 4 KiB cut every access into many requests; give a larger "
              "striping_unit for the next file");
}

TEST(StripingNote, nothing_is_said_where_nothing_is_known_to_hurt) {
    EXPECT_EQ(striping_note(striped(1024 * kib, 8), gib, 4), "");
    EXPECT_EQ(striping_note(striped(1024 * kib, 1), gib, 1), "");              // one rank
    EXPECT_EQ(striping_note(striped(1024 * kib, 1), 100 * kib * kib, 4), "");  // small
    EXPECT_EQ(striping_note(Layout::unknown("lustre", "no permission"), gib, 4), "");
    EXPECT_EQ(striping_note(Layout::of("local", {Striping::round_robin(4096, {0})}), gib, 4), "");
}

}  // namespace
}  // namespace unisono
