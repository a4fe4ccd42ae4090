#include "pocketfs/synced_states.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace unisono::testbed {
namespace {

class SyncedStatesTest : public testing::Test {
protected:
    ~SyncedStatesTest() override {
        close(file.fd);
        std::filesystem::remove_all(folder);
    }

    [[nodiscard]] std::string contents() const {
        std::ifstream stream(path);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    int write_at(off_t offset, std::string const& text) {
        return states.change(file, [&] {
            Descriptor const out(open(path.c_str(), O_WRONLY));
            auto const written = pwrite(out.get(), text.data(), text.size(), offset);
            return written == static_cast<ssize_t>(text.size()) ? 0 : errno;
        });
    }

    int resize(off_t bytes) {
        return states.change(file, [&] { return truncate(path.c_str(), bytes) == 0 ? 0 : errno; });
    }

    std::string folder = [] {
        auto made = (std::filesystem::temp_directory_path() / "synced-states-XXXXXX").string();
        return std::string(mkdtemp(made.data()));
    }();
    std::string path = folder + "/file";
    SyncedStates states{folder};
    Inode file;

    SyncedStatesTest() {
        std::ofstream(path) << "before";
        file.fd = open(path.c_str(), O_PATH | O_CLOEXEC);
        struct stat attributes {};
        fstat(file.fd, &attributes);
        file.device = attributes.st_dev;
        file.number = attributes.st_ino;
    }
};

TEST_F(SyncedStatesTest, a_cut_brings_back_what_was_last_synced) {
    ASSERT_EQ(write_at(0, "synced"), 0);
    states.synced(file);
    ASSERT_EQ(write_at(3, "changed, and longer"), 0);
    ASSERT_EQ(states.cut_power(), 0);
    EXPECT_EQ(contents(), "synced");
}

TEST_F(SyncedStatesTest, a_second_cut_brings_back_the_same) {
    ASSERT_EQ(write_at(0, "first"), 0);
    ASSERT_EQ(states.cut_power(), 0);
    ASSERT_EQ(write_at(0, "second"), 0);
    ASSERT_EQ(states.cut_power(), 0);
    EXPECT_EQ(contents(), "before");
}

TEST_F(SyncedStatesTest, what_a_truncation_cut_off_comes_back) {
    ASSERT_EQ(resize(2), 0);
    ASSERT_EQ(resize(4), 0);
    ASSERT_EQ(states.cut_power(), 0);
    EXPECT_EQ(contents(), "before");
}

TEST_F(SyncedStatesTest, a_change_that_fails_says_so_and_loses_nothing) {
    EXPECT_EQ(states.change(file, [] { return EDQUOT; }), EDQUOT);
    ASSERT_EQ(states.cut_power(), 0);
    EXPECT_EQ(contents(), "before");
}

TEST_F(SyncedStatesTest, a_terabyte_of_holes_is_neither_copied_nor_filled) {
    constexpr off_t far = off_t{1} << 40;
    ASSERT_EQ(write_at(far, "end"), 0);
    states.synced(file);
    ASSERT_EQ(resize(0), 0);
    ASSERT_EQ(states.cut_power(), 0);
    struct stat attributes {};
    ASSERT_EQ(stat(path.c_str(), &attributes), 0);
    EXPECT_EQ(attributes.st_size, far + 3);
    EXPECT_LT(attributes.st_blocks * 512, 1 << 20);
}

TEST_F(SyncedStatesTest, copies_have_no_names_that_could_be_left_behind) {
    ASSERT_EQ(write_at(0, "x"), 0);
    auto const entries = std::filesystem::directory_iterator(folder);
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

}  // namespace
}  // namespace unisono::testbed
