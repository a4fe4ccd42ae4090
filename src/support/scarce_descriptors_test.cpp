#include "support/scarce_descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

namespace unisono {
namespace {

constexpr rlim_t few = 64;

int open_null() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// How many files a program can open beside own descriptors for each; in a process with this limit.
[[noreturn]] void count_files_and_exit(rlim_t hard_limit) {
    rlimit const limit{few, hard_limit};
    setrlimit(RLIMIT_NOFILE, &limit);
    int files = 0, moved = 0, missing = 0;
    for (; files < static_cast<int>(few) * 5 / 8; ++files) {
        if (open_null() < 0) break;
        auto const own = out_of_the_way(open_null());
        moved += own >= static_cast<int>(few) ? 1 : 0;
        missing += own < 0 ? 1 : 0;
    }
    auto const as_many_as_alone = files == static_cast<int>(few) * 5 / 8;
    exit(!as_many_as_alone ? 1 : moved > 0 ? 2 : missing > 0 ? 3 : 4);
}

TEST(OutOfTheWay, leaves_the_program_its_numbers) {
    EXPECT_EXIT(count_files_and_exit(4 * few), testing::ExitedWithCode(2), "");
}

TEST(OutOfTheWay, gives_up_where_the_limit_may_not_be_raised) {
    EXPECT_EXIT(count_files_and_exit(few), testing::ExitedWithCode(3), "");
}

TEST(OutOfTheWay, keeps_what_is_in_nobodys_way) {
    auto const descriptor = open_null();
    EXPECT_EQ(out_of_the_way(descriptor), descriptor);
    EXPECT_EQ(out_of_the_way(-1), -1);
    close(descriptor);
}

[[noreturn]] void use_up_and_exit(rlim_t hard_limit) {
    rlimit const limit{few, hard_limit};
    setrlimit(RLIMIT_NOFILE, &limit);
    while (open_null() >= 0) {
    }
    make_room_for_descriptors(2);
    exit(open_null() < 0 ? 1 : open_null() < 0 ? 2 : 3);
}

TEST(RoomForDescriptors, is_there_where_the_limit_may_be_raised) {
    EXPECT_EXIT(use_up_and_exit(4 * few), testing::ExitedWithCode(3), "");
    EXPECT_EXIT(use_up_and_exit(few), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace unisono
