#include "exchange/shared_segment.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>

#include "backends/test_support.hpp"

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

// These run in processes of their own: what they do cannot be undone.
[[noreturn]] void take_all_of(std::size_t segment_bytes) {
    std::string name;
    auto segment = SharedSegment::create(segment_bytes, name);
    SharedSegment::forget(name);
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

[[noreturn]] void take_128_kib_where_kernels_are_old() {
    forbid_system_call(SYS_madvise);
    take_128_kib();
}

[[noreturn]] void take_some_where_kernels_are_old() {
    forbid_system_call(SYS_madvise);
    take_all_of(bytes);
}

TEST(SharedSegment, a_full_file_system_is_known_and_no_sigbus) {
    if (SmallFileSystem{64 << 10}.folder().empty()) GTEST_SKIP() << "mounting is not allowed";
    EXPECT_EXIT(take_128_kib(), testing::ExitedWithCode(1), "");
    EXPECT_EXIT(take_128_kib_where_kernels_are_old(), testing::ExitedWithCode(1), "");
}

TEST(SharedSegment, needs_no_new_kernel) {
    EXPECT_EXIT(take_some_where_kernels_are_old(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace unisono
