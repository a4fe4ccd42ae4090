#include <gtest/gtest.h>

#include "layouts/fake_file_system.hpp"
#include "layouts/magic.hpp"

namespace unisono {
namespace {

std::string as_text(std::vector<std::byte> const& bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

TEST(Pocket, attribute_is_the_text_that_people_write) {
    FakeFile file{.magic = magic::fuse};
    file.attributes["user.pocketfs.layout"] = "stripe_bytes=65536,servers=4,first=0";
    EXPECT_EQ(file.find(), "64 KiB over 4 servers (pocketfs)");
    file.attributes["user.pocketfs.layout"] = "stripe_bytes=65536,servers=0";
    EXPECT_EQ(file.find(), "unknown (pocketfs: servers: \"0\"; valid: a number from 1 to 65536)");
    file.magic = 0xef53;
    EXPECT_EQ(file.find(), "unknown (none: no provider for file system type 0xef53)")
        << "the attribute may have been copied along with the file";
}

TEST(Gpfs, tells_its_block_size_only) {
    auto const layout = find_layout(FakeFile{.magic = magic::gpfs}.probe(), {});
    EXPECT_FALSE(layout.known());
    EXPECT_EQ(layout.unit_at(12345), 4096u);
    auto probe = FakeFile{.magic = magic::gpfs}.probe();
    probe.block_bytes = 0;
    EXPECT_EQ(find_layout(probe, {}).describe(), "unknown (gpfs: stripe unit 0)");
}

/// Answers of a BeeGFS client.
struct FakeBeegfs {
    std::uint32_t pattern = 1;
    std::uint32_t chunk_bytes = 512 << 10;
    std::vector<std::uint16_t> targets;
    bool old = false;  // before version 6

    [[nodiscard]] std::string find() const {
        return FakeFile{.magic = magic::beegfs,
                        .control = [this](auto... call) { return answer(call...); }}
            .find();
    }

private:
    // Request numbers and places follow from beegfs_ioctl.h: sizes 12, 262 and 536 bytes.
    [[nodiscard]] bool answer(unsigned long request, void* argument) const {
        auto const put = [&](std::size_t place, auto value) {
            std::memcpy(static_cast<char*>(argument) + place, &value, sizeof value);
        };
        std::uint16_t index = 0;
        std::memcpy(&index, argument, sizeof index);
        if (request == 0x800c6619) {
            put(0, pattern);
            put(4, chunk_bytes);
            put(8, static_cast<std::uint16_t>(targets.size()));
        } else if (request == 0x8218661a && !old) {
            put(4, std::uint32_t{targets.at(index)});
        } else if (request == 0x8106661a && old) {
            put(2, targets.at(index));
        } else {
            return false;
        }
        return true;
    }
};

TEST(Beegfs, targets_take_turns) {
    EXPECT_EQ((FakeBeegfs{.targets = {101, 202, 103, 104}}.find()),
              "512 KiB over 4 servers (beegfs)");
    EXPECT_EQ((FakeBeegfs{.targets = {101, 202, 103}, .old = true}.find()),
              "512 KiB over 3 servers (beegfs)");
    EXPECT_EQ((FakeBeegfs{.pattern = 3, .targets = {7, 8}}.find()),
              "512 KiB over 2 servers (beegfs)");
}

TEST(Beegfs, what_cannot_be_is_unknown) {
    EXPECT_EQ((FakeBeegfs{.pattern = 2, .targets = {1, 2}}.find()),
              "unknown (beegfs: stripe pattern 2)");
    EXPECT_EQ((FakeBeegfs{.chunk_bytes = 0, .targets = {1}}.find()),
              "unknown (beegfs: stripe unit 0)");
    EXPECT_EQ(FakeBeegfs{}.find(), "unknown (beegfs: no targets)");
    EXPECT_EQ(FakeFile{.magic = magic::beegfs}.find(),
              "unknown (beegfs: the client does not tell the stripe pattern)");
}

/// As orangefs encodes it: length, name, zero, padding to 8 bytes, strip size.
FakeBytes simple_stripe(std::uint64_t unit) {
    return FakeBytes{}.put(13, 4).put("simple_stripe").skip(7).put(unit, 8);
}

TEST(Orangefs, data_files_take_turns) {
    auto const handles = FakeBytes{}.put(4611686018427387895, 8).put(123, 8).put(456, 8).bytes;
    EXPECT_EQ((FakeFile{.magic = magic::orangefs,
                        .attributes = {{"system.pvfs2.md", as_text(simple_stripe(65536).bytes)},
                                       {"system.pvfs2.dh", as_text(handles)}}}
                   .find()),
              "64 KiB over 3 servers (orangefs)");
    EXPECT_EQ(FakeFile{.magic = magic::orangefs}.find(),
              "unknown (orangefs: system.pvfs2.md and .dh cannot be read)");
}

TEST(Orangefs, what_cannot_be_is_unknown) {
    auto const handles = FakeBytes{}.skip(16).bytes;
    auto const good = simple_stripe(65536).bytes;
    ASSERT_TRUE(parse_orangefs_layout(good, handles).known());
    for (std::size_t size = 0; size < good.size(); ++size) {
        std::vector<std::byte> const part(good.begin(), good.begin() + static_cast<long>(size));
        EXPECT_EQ(parse_orangefs_layout(part, handles).reason, "distribution is cut off") << size;
    }
    for (std::size_t const size : {0, 1, 7, 9, 15})
        EXPECT_EQ(parse_orangefs_layout(good, std::span(handles).first(size)).reason,
                  "list of data files is cut off");
    EXPECT_EQ(parse_orangefs_layout(simple_stripe(0).bytes, handles).reason, "stripe unit 0");
    EXPECT_EQ(parse_orangefs_layout(simple_stripe(~0ull).bytes, handles).reason,
              "stripe unit 18446744073709551615");
    auto const twod = FakeBytes{}.put(11, 4).put("twod_stripe").skip(100).bytes;
    EXPECT_EQ(parse_orangefs_layout(twod, handles).reason, "distribution twod_stripe");
    auto const endless = FakeBytes{}.put(0xffffffff, 4).skip(100).bytes;
    EXPECT_EQ(parse_orangefs_layout(endless, handles).reason, "distribution is cut off");
}

}  // namespace
}  // namespace unisono
