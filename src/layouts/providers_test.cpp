#include "layouts/providers.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "layouts/fake_file_system.hpp"
#include "layouts/file_system.hpp"
#include "layouts/find_layout.hpp"

namespace unisono {
namespace {

TEST(Providers, the_users_word_comes_first) {
    FakeFile const file{.local = true};
    EXPECT_EQ(file.find({.layout = "stripe_bytes=64K,servers=4",
                         .layout_named = "UNISONO_LAYOUT",
                         .striping_unit = 4096}),
              "64 KiB over 4 servers (UNISONO_LAYOUT)");
    EXPECT_EQ(file.find({.layout = "servers=4", .layout_named = "unisono_layout"}),
              "unknown (unisono_layout: stripe_bytes is missing)");
}

TEST(Providers, hints_come_before_local_file_systems) {
    FakeFile const file{.local = true};
    EXPECT_EQ(file.find({.striping_unit = 1 << 20, .striping_factor = 12}),
              "1 MiB over 12 servers (hints)");
    EXPECT_EQ(file.find(), "one server (local)");
}

TEST(Providers, hints_need_each_other) {
    FakeFile const file;
    EXPECT_EQ(file.find({.striping_unit = 1 << 20}),
              "1 MiB units, servers unknown (hints: striping_unit without striping_factor)");
    EXPECT_EQ(file.find({.striping_factor = 4}),
              "unknown (hints: striping_factor without striping_unit)");
    EXPECT_EQ(file.find({.striping_unit = 1, .striping_factor = 4000000000}),
              "unknown (hints: striping_factor is too large)");
}

TEST(Providers, a_file_system_that_nobody_knows_is_named) {
    EXPECT_EQ(FakeFile{.magic = NFS_SUPER_MAGIC}.find(),
              "unknown (none: no provider for file system type 0x6969)");
}

TEST(Providers, a_real_file_in_memory_is_local) {
    auto const descriptor = memfd_create("layout", 0);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(find_layout(descriptor, {}).describe(), "one server (local)");
    close(descriptor);
    EXPECT_FALSE(find_layout(descriptor, {}).known()) << "closed";
}

TEST(FileSystem, is_described_by_type_and_source_of_its_mount) {
    auto const text = describe_file_system(STDIN_FILENO, "/no/such/file");
    EXPECT_EQ(text, "unknown file system");
    auto const descriptor = memfd_create("some", 0);
    struct stat status {};
    ASSERT_EQ(fstat(descriptor, &status), 0);
    auto const number =
        std::to_string(major(status.st_dev)) + ':' + std::to_string(minor(status.st_dev));
    auto const mounts = ::testing::TempDir() + "mountinfo." + std::to_string(getpid());
    std::ofstream{mounts} << "20 1 999:999 / / rw - ext4 /dev/sda1 rw\n"
                          << "21 1 " << number
                          << " / /data rw,noatime shared:3 master:1 - nfs4 server:/home rw\n";
    EXPECT_EQ(describe_file_system(descriptor, mounts), "nfs4 server:/home");
    close(descriptor);
    unlink(mounts.c_str());
}

}  // namespace
}  // namespace unisono
