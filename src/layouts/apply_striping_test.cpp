#include "layouts/apply_striping.hpp"

#include <gtest/gtest.h>

#include "layouts/fake_file_system.hpp"
#include "layouts/magic.hpp"

namespace unisono {
namespace {

/// A file system that keeps what is set, unless it has an error to say.
struct Recorder {
    FakeFile file;
    int error = 0;
    std::vector<std::string> set;

    std::string apply(Options const& options) {
        auto probe = file.probe();
        probe.set_attribute = [this](char const* name, std::string const& value) {
            set.push_back(std::string(name) + "=" + value);
            return error;
        };
        return apply_striping(probe, options);
    }
};

using Set = std::vector<std::string>;

constexpr auto ceph_defaults =
    "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data";

TEST(ApplyStriping, gives_ceph_all_values_in_one) {
    FakeFile const file{.magic = magic::fuse, .attributes = {{"ceph.file.layout", ceph_defaults}}};
    struct Case {
        Options options;
        char const* value;
    };
    for (auto const& [options, value] : {
             Case{{.striping_unit = 65536, .striping_factor = 4},
                  "stripe_unit=65536 stripe_count=4 object_size=4194304"},
             Case{{.striping_factor = 8}, "stripe_unit=4194304 stripe_count=8 object_size=4194304"},
             Case{{.striping_unit = 3 << 20},
                  "stripe_unit=3145728 stripe_count=1 object_size=6291456"},
             Case{{.striping_unit = 8 << 20},
                  "stripe_unit=8388608 stripe_count=1 object_size=8388608"},
         }) {
        Recorder recorder{.file = file};
        EXPECT_EQ(recorder.apply(options), "");
        EXPECT_EQ(recorder.set, (Set{"ceph.file.layout=" + std::string(value)}));
    }
}

TEST(ApplyStriping, gives_the_pocket_file_system_what_was_asked_for) {
    FakeFile const file{
        .magic = magic::fuse,
        .attributes = {{"user.pocketfs.layout", "stripe_bytes=65536,servers=4,first=0"}}};
    Recorder recorder{.file = file};
    EXPECT_EQ(recorder.apply({.striping_unit = 1 << 20, .striping_factor = 2}), "");
    EXPECT_EQ(recorder.set, (Set{"user.pocketfs.stripe_bytes=1048576", "user.pocketfs.servers=2"}));
}

TEST(ApplyStriping, says_why_it_did_not_work) {
    Recorder recorder{
        .file = {.magic = magic::ceph, .attributes = {{"ceph.file.layout", ceph_defaults}}},
        .error = ENOTEMPTY};
    EXPECT_EQ(recorder.apply({.striping_factor = 2}),
              "ceph.file.layout cannot be set to \"stripe_unit=4194304 stripe_count=2 "
              "object_size=4194304\": the file is not empty");
    recorder.error = EINVAL;
    EXPECT_NE(recorder.apply({.striping_unit = 1000}).find("Invalid argument"), std::string::npos);
    recorder.file.attributes["ceph.file.layout"] = "stripe_unit=0";
    EXPECT_EQ(recorder.apply({.striping_unit = 1000}),
              "ceph.file.layout=\"stripe_unit=0\" cannot be read");
}

TEST(ApplyStriping, leaves_other_files_and_other_options_alone) {
    Recorder ceph{
        .file = {.magic = magic::ceph, .attributes = {{"ceph.file.layout", ceph_defaults}}}};
    EXPECT_EQ(ceph.apply({}), "");
    EXPECT_EQ(ceph.set, Set{});
    for (auto const kind : {magic::lustre, magic::fuse, std::uint32_t{0xef53}}) {
        Recorder other{.file = {.magic = kind}};
        EXPECT_EQ(other.apply({.striping_unit = 65536, .striping_factor = 4}), "");
        EXPECT_EQ(other.set, Set{}) << kind;
    }
}

}  // namespace
}  // namespace unisono
