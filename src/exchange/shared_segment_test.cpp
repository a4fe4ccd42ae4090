#include "exchange/shared_segment.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace unisono {
namespace {

constexpr std::size_t bytes = 5 * 4096 + 100;

TEST(SharedSegment, who_takes_parts_of_it_sees_what_others_wrote) {
    std::string name;
    auto mine = SharedSegment::create(bytes, name);
    auto theirs = SharedSegment::open(name, bytes);
    SharedSegment::forget(name);
    ASSERT_EQ(mine.bytes().size(), bytes);
    ASSERT_EQ(theirs.bytes().size(), bytes);
    EXPECT_TRUE(mine.take_part(0, 2));
    EXPECT_TRUE(theirs.take_part(1, 2));
    EXPECT_TRUE(std::ranges::all_of(theirs.bytes(), [](auto byte) { return byte == std::byte{}; }));
    mine.bytes().back() = std::byte{7};
    EXPECT_EQ(theirs.bytes().back(), std::byte{7});
}

TEST(SharedSegment, one_of_a_page_has_parts_without_bytes) {
    std::string name;
    auto segment = SharedSegment::create(100, name);
    auto other = SharedSegment::open(name, 100);
    SharedSegment::forget(name);
    EXPECT_TRUE(segment.take_part(0, 8));
    EXPECT_TRUE(other.take_part(7, 8));
}

// In a process that has a /dev/shm of its own: 0 if all is as it should be, 77 if it may not have.
int take_more_than_there_is() {
    constexpr std::size_t room = 64 << 10;
    auto const options = "size=" + std::to_string(room);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return 77;
    if (mount("tmpfs", "/dev/shm", "tmpfs", 0, options.c_str()) != 0) return 77;
    std::string name;
    auto segment = SharedSegment::create(2 * room, name);
    SharedSegment::forget(name);
    return segment.take_part(0, 1) ? 1 : 0;
}

TEST(SharedSegment, a_full_file_system_is_known_and_no_sigbus) {
    auto const child = fork();
    if (child == 0) std::_Exit(take_more_than_there_is());
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "not root";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace unisono
