#include "exchange/shared_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "backends/test_support.hpp"

namespace {

// As on tmpfs before Linux 6.18: a signal that comes meanwhile undoes what was allocated.
bool signals_undo = false;

}  // namespace

extern "C" int posix_fallocate(int descriptor, off_t begin, off_t length) {
    static int tries = 0;
    if (++tries > 20) return ENOSPC;  // there is no end otherwise
    if (signals_undo && usleep(3000) != 0) return EINTR;
    return fallocate(descriptor, 0, begin, length) == 0 ? 0 : errno;
}

namespace unisono {
namespace {

constexpr std::size_t bytes = 5 * 4096 + 100;

SharedSegment opened_as_well(SharedSegment const& segment, std::size_t segment_bytes) {
    return SharedSegment::open(dup(segment.descriptor()), segment_bytes);
}

TEST(SharedSegment, who_takes_parts_of_it_sees_what_others_wrote) {
    auto mine = SharedSegment::create(bytes);
    auto theirs = opened_as_well(mine, bytes);
    ASSERT_EQ(mine.bytes().size(), bytes);
    ASSERT_EQ(theirs.bytes().size(), bytes);
    EXPECT_TRUE(mine.take_part(0, 2));
    EXPECT_TRUE(theirs.take_part(1, 2));
    EXPECT_TRUE(std::ranges::all_of(theirs.bytes(), [](auto byte) { return byte == std::byte{}; }));
    mine.bytes().back() = std::byte{7};
    EXPECT_EQ(theirs.bytes().back(), std::byte{7});
}

TEST(SharedSegment, one_of_a_page_has_parts_without_bytes) {
    auto segment = SharedSegment::create(100);
    auto other = opened_as_well(segment, 100);
    EXPECT_TRUE(segment.take_part(0, 8));
    EXPECT_TRUE(other.take_part(7, 8));
}

TEST(SharedSegment, nobody_can_take_pages_away) {
    auto const segment = SharedSegment::create(bytes);
    EXPECT_EQ(ftruncate(segment.descriptor(), 0), -1);
    EXPECT_EQ(errno, EPERM);
}

TEST(SharedSegment, none_was_handed_over) {
    EXPECT_TRUE(SharedSegment::open(-1, bytes).bytes().empty());
}

// These run in processes of their own: what they do cannot be undone.
[[noreturn]] void take_all_of(std::size_t segment_bytes) {
    auto segment = SharedSegment::create(segment_bytes);
    if (!segment.take_part(0, 1)) std::_Exit(1);
    std::ranges::fill(segment.bytes(), std::byte{1});
    std::_Exit(0);
}

// In a /dev/shm with room for 64 KiB.
[[noreturn]] void take_128_kib() {
    auto const own = unshare(CLONE_NEWNS) == 0 &&
                     mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                     mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") == 0;
    if (!own) std::_Exit(2);
    take_all_of(128 << 10);
}

[[noreturn]] void take_some_where_kernels_are_old() {
    forbid_system_call(SYS_madvise);
    take_all_of(bytes);
}

[[noreturn]] void take_some_in_a_program_with_a_timer() {
    forbid_system_call(SYS_madvise);
    signals_undo = true;
    std::signal(SIGALRM, [](int) {});
    itimerval const each_ms{.it_interval = {0, 1000}, .it_value = {0, 1000}};
    setitimer(ITIMER_REAL, &each_ms, nullptr);
    take_all_of(bytes);
}

[[noreturn]] void take_some_where_there_is_none() {
    forbid_system_call(SYS_madvise);
    forbid_system_call(SYS_fallocate);
    take_all_of(bytes);
}

[[noreturn]] void create_where_that_is_forbidden() {
    forbid_system_call(SYS_memfd_create);
    std::_Exit(SharedSegment::create(bytes).bytes().empty() ? 0 : 1);
}

[[noreturn]] void create_beyond_the_limit_of_files() {
    rlimit const limit{.rlim_cur = bytes - 1, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) std::_Exit(2);
    std::_Exit(SharedSegment::create(bytes).bytes().empty() ? 0 : 1);
}

TEST(SharedSegment, asks_for_no_room_in_dev_shm) {
    if (SmallFileSystem{64 << 10}.folder().empty()) GTEST_SKIP() << "mounting is not allowed";
    EXPECT_EXIT(take_128_kib(), testing::ExitedWithCode(0), "");
}

TEST(SharedSegment, needs_no_new_kernel) {
    EXPECT_EXIT(take_some_where_kernels_are_old(), testing::ExitedWithCode(0), "");
}

TEST(SharedSegment, on_old_kernels_took_no_end_in_a_program_with_a_timer) {
    EXPECT_EXIT(take_some_in_a_program_with_a_timer(), testing::ExitedWithCode(0), "");
}

TEST(SharedSegment, memory_that_cannot_be_had_is_known_and_no_sigbus) {
    EXPECT_EXIT(take_some_where_there_is_none(), testing::ExitedWithCode(1), "");
    EXPECT_EXIT(create_where_that_is_forbidden(), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(create_beyond_the_limit_of_files(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace unisono
