#include <gtest/gtest.h>

#include "layouts/byte_units.hpp"
#include "layouts/fake_file_system.hpp"
#include "layouts/magic.hpp"

namespace unisono {
namespace {

// As ceph-fuse 16.2 has them.
constexpr auto defaults = "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data";
constexpr auto striped = "stripe_unit=65536 stripe_count=3 object_size=262144 pool=data";

FakeFile ceph_fuse(char const* attribute, ObjectPlacement placement = nullptr) {
    return {.magic = magic::fuse,
            .attributes = {{"ceph.file.layout", attribute}},
            .placement = std::move(placement)};
}

TEST(Ceph, objects_are_where_the_cluster_says) {
    // Objects of three stripes begin at 0, 64K, 128K, 768K, ...
    auto const osd_of = [](std::uint64_t offset) -> std::optional<std::uint32_t> {
        auto const object = offset / (768 * kib) * 3 + offset % (768 * kib) / (64 * kib);
        return 10 + static_cast<std::uint32_t>(object * object % 7);
    };
    auto const file = ceph_fuse(striped, osd_of);
    auto const layout = find_layout(file.probe(), {});
    EXPECT_EQ(layout.describe(), "64 KiB over 4 servers, 3 objects of 256 KiB in turn (ceph)");
    // Objects 0 to 5 are on OSDs 10, 11, 14, 12, 12, 14 of 10, 11, 12, 14.
    EXPECT_EQ(layout.server_of(0), 0u);
    EXPECT_EQ(layout.server_of(64 * kib), 1u);
    EXPECT_EQ(layout.server_of(128 * kib), 3u);
    EXPECT_EQ(layout.server_of(192 * kib), 0u) << "the second unit of object 0";
    EXPECT_EQ(layout.server_of(768 * kib), 2u);
    EXPECT_EQ(layout.server_of(832 * kib), 2u);
    EXPECT_EQ(layout.bytes_of(2, {0, 1536 * kib}).bytes(), 512 * kib) << "two whole objects";
}

TEST(Ceph, without_a_library_objects_stand_for_servers) {
    EXPECT_EQ(ceph_fuse(defaults).find(),
              "4 MiB over 64 servers (ceph: by object, it is not known which server has which)");
    auto const layout = find_layout(ceph_fuse(striped).probe(), {});
    EXPECT_EQ(layout.servers(), 66u) << "whole sets of three objects";
    EXPECT_EQ(layout.server_of(64 * kib), 1u);
    EXPECT_EQ(layout.server_of(768 * kib), 3u);
}

TEST(Ceph, one_object_without_a_place_is_enough_to_go_by_object) {
    auto const file = ceph_fuse(defaults, [](std::uint64_t offset) {
        return offset == 0 ? std::optional<std::uint32_t>{} : 1;
    });
    EXPECT_EQ(find_layout(file.probe(), {}).servers(), 64u);
}

TEST(Ceph, the_kernels_client_tells_the_osds_itself) {
    FakeFile const file{.magic = magic::ceph,
                        .attributes = {{"ceph.file.layout", defaults}},
                        .control = [](unsigned long request, void* argument) {
                            EXPECT_EQ(request, 0xc0f89703u) << "CEPH_IOC_GET_DATALOC, 248 bytes";
                            std::uint64_t offset = 0;
                            std::memcpy(&offset, argument, sizeof offset);
                            auto const osd = static_cast<std::int64_t>(offset >> 22) % 5;
                            std::memcpy(static_cast<char*>(argument) + 112, &osd, sizeof osd);
                            return true;
                        }};
    auto const layout = find_layout(file.probe(), {});
    EXPECT_EQ(layout.describe(), "4 MiB over 5 servers (ceph)");
    EXPECT_EQ(layout.server_of(std::uint64_t{7} << 22), 2u);
}

TEST(Ceph, malformed_attributes_are_unknown) {
    for (auto const* attribute : {"", "stripe_unit=65536", "stripe_unit=65536 stripe_count=3",
                                  "stripe_unit=0 stripe_count=3 object_size=262144",
                                  "stripe_unit=65536 stripe_count=0 object_size=262144",
                                  "stripe_unit=65536 stripe_count=3 object_size=0",
                                  "stripe_unit=65536 stripe_count=3 object_size=65537",
                                  "stripe_unit=65536 stripe_count=-3 object_size=262144",
                                  "stripe_unit=65536 stripe_count=4000000000 object_size=262144",
                                  "stripe_unit=65536 stripe_count=3 object_size=1099511627776",
                                  "stripe_unit=262144 stripe_count=3 object_size=65536"}) {
        auto const layout = find_layout(ceph_fuse(attribute).probe(), {});
        EXPECT_FALSE(layout.known()) << attribute;
        EXPECT_EQ(layout.reason, "ceph.file.layout=\"" + std::string(attribute) + "\"");
    }
}

TEST(Ceph, an_attribute_that_is_cut_off_is_unknown_or_whole) {
    std::string const text = defaults;
    auto const before_pool = text.find(" pool");
    for (std::size_t size = 0; size < text.size(); ++size) {
        auto const striping = parse_ceph_striping(std::string(text, 0, size));
        if (size < before_pool)
            EXPECT_FALSE(striping) << size;
        else
            EXPECT_TRUE(striping) << size;
    }
}

TEST(Ceph, other_file_systems_in_user_space_are_not_ceph) {
    EXPECT_EQ(FakeFile{.magic = magic::fuse}.find(),
              "unknown (none: no provider for file system type 0x65735546)");
    EXPECT_EQ(FakeFile{.magic = magic::ceph}.find(),
              "unknown (ceph: ceph.file.layout cannot be read)");
}

}  // namespace
}  // namespace unisono
