#include "layouts/providers.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "layouts/find_layout.hpp"

namespace unisono {
namespace {

/// A file system made by hand.
struct Fake {
    std::uint32_t magic = 0;
    std::map<std::string, std::string> attributes;
    bool local = false;

    [[nodiscard]] FileProbe probe() const {
        return {.magic = magic,
                .block_bytes = 4096,
                .local = local,
                .attribute = [this](char const* name) -> std::optional<Attribute> {
                    auto const found = attributes.find(name);
                    if (found == attributes.end()) return std::nullopt;
                    auto const bytes = std::as_bytes(std::span(found->second));
                    return Attribute(bytes.begin(), bytes.end());
                },
                .control = [](unsigned long, void*) { return false; }};
    }
    [[nodiscard]] std::string find(Options const& options = {}) const {
        return find_layout(probe(), options).describe();
    }
};

TEST(Providers, the_users_word_comes_first) {
    Fake const file{.local = true};
    EXPECT_EQ(file.find({.layout = "stripe_bytes=64K,servers=4", .striping_unit = 4096}),
              "64 KiB over 4 servers (UNISONO_LAYOUT)");
    EXPECT_EQ(file.find({.layout = "servers=4"}),
              "unknown (UNISONO_LAYOUT: stripe_bytes is missing)");
}

TEST(Providers, hints_come_before_local_file_systems) {
    Fake const file{.local = true};
    EXPECT_EQ(file.find({.striping_unit = 1 << 20, .striping_factor = 12}),
              "1 MiB over 12 servers (hints)");
    EXPECT_EQ(file.find(), "one server (local)");
}

TEST(Providers, hints_need_each_other) {
    Fake const file;
    EXPECT_EQ(file.find({.striping_unit = 1 << 20}),
              "1 MiB units, servers unknown (hints: striping_unit without striping_factor)");
    EXPECT_EQ(file.find({.striping_factor = 4}),
              "unknown (hints: striping_factor without striping_unit)");
    EXPECT_EQ(file.find({.striping_unit = 1, .striping_factor = 4000000000}),
              "unknown (hints: striping_factor is too large)");
}

TEST(Providers, a_file_system_that_nobody_knows_is_named) {
    EXPECT_EQ(Fake{.magic = NFS_SUPER_MAGIC}.find(),
              "unknown (none: no provider for file system type 0x6969)");
}

TEST(Providers, a_real_file_in_memory_is_local) {
    auto const descriptor = memfd_create("layout", 0);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(find_layout(descriptor, {}).describe(), "one server (local)");
    close(descriptor);
    EXPECT_FALSE(find_layout(descriptor, {}).known()) << "closed";
}

}  // namespace
}  // namespace unisono
