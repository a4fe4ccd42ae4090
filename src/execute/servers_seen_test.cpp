#include "execute/servers_seen.hpp"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(ServersSeen, have_fast_links_for_some_windows_after_a_fast_one) {
    ServersSeen seen;
    EXPECT_EQ(seen.links(Direction::read), Links::unknown);
    seen.note_window(Direction::read, false);
    EXPECT_EQ(seen.links(Direction::read), Links::busy);
    seen.note_window(Direction::read, true);
    for (int window = 0; window < 16; ++window) {
        EXPECT_EQ(seen.links(Direction::read), Links::fast) << window;
        seen.note_window(Direction::read, false);
    }
    EXPECT_EQ(seen.links(Direction::read), Links::busy);
    EXPECT_EQ(seen.links(Direction::write), Links::unknown) << "another direction";
}

TEST(ServersSeen, that_are_slow_to_read_from_leave_links_idle) {
    ServersSeen seen;
    seen.slow = true;
    EXPECT_EQ(seen.links(Direction::read), Links::idle);
    EXPECT_EQ(seen.links(Direction::write), Links::unknown);
    seen.slow = false;
    EXPECT_EQ(seen.links(Direction::read), Links::unknown);
}

}  // namespace
}  // namespace unisono
