#include "backends/file_mapping.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/test_support.hpp"

namespace unisono {

namespace {

class FileMappingTest : public testing::TestWithParam<std::string> {
protected:
    TemporaryFile file{GetParam()};
};

TEST_P(FileMappingTest, reads_and_writes_bytes_at_their_file_offset) {
    auto const bytes = pattern(5 * page_bytes(), 1);
    file.fill(bytes);
    Extent const extent{page_bytes() + 10, 3 * page_bytes() + 5};
    FileMapping mapping;
    ASSERT_FALSE(mapping.map(file.fd(), extent, Direction::write));
    EXPECT_EQ(mapping.extent(), (Extent{page_bytes(), 4 * page_bytes()}));
    ASSERT_FALSE(mapping.populate({&extent, 1}, Direction::write));
    EXPECT_EQ(*mapping.at(extent.begin), bytes[extent.begin]);
    *mapping.at(extent.end - 1) = ~bytes[extent.end - 1];

    auto expected = bytes;
    expected[extent.end - 1] = ~expected[extent.end - 1];
    EXPECT_TRUE(file.contents() == expected);
}

TEST_P(FileMappingTest, does_not_need_its_file_descriptor_later) {
    file.fill(pattern(100, 1));
    int const other = open(file.path().c_str(), O_RDONLY);
    Extent const extent{0, 100};
    FileMapping mapping;
    ASSERT_FALSE(mapping.map(other, extent, Direction::read));
    close(other);
    ASSERT_FALSE(mapping.populate({&extent, 1}, Direction::read));
    EXPECT_EQ(*mapping.at(99), pattern(100, 1)[99]);
}

TEST_P(FileMappingTest, moves) {
    file.fill(pattern(3 * page_bytes(), 1));
    FileMapping first;
    FileMapping second;
    ASSERT_FALSE(first.map(file.fd(), {0, 10}, Direction::read));
    ASSERT_FALSE(second.map(file.fd(), {page_bytes(), page_bytes() + 10}, Direction::read));
    first = std::move(second);
    EXPECT_EQ(*first.at(page_bytes() + 3), pattern(3 * page_bytes(), 1)[page_bytes() + 3]);
    FileMapping const third = std::move(first);
    EXPECT_EQ(*third.at(page_bytes()), pattern(3 * page_bytes(), 1)[page_bytes()]);
}

TEST_P(FileMappingTest, refuses_what_is_beyond_the_end_of_the_file) {
    file.fill(pattern(100, 1));
    FileMapping mapping;
    EXPECT_EQ(mapping.map(file.fd(), {0, 101}, Direction::read).code, EINVAL);
    EXPECT_EQ(mapping.map(file.fd(), {50, 50}, Direction::read).code, EINVAL);
    EXPECT_FALSE(mapping.map(file.fd(), {0, 100}, Direction::read));
}

TEST_P(FileMappingTest, reports_what_the_file_was_not_opened_for) {
    file.fill(pattern(100, 1));
    int const read_only = open(file.path().c_str(), O_RDONLY);
    FileMapping mapping;
    auto const error = mapping.map(read_only, {20, 100}, Direction::write);
    close(read_only);
    EXPECT_EQ(error.code, EACCES);
    EXPECT_STREQ(error.call, "mmap");
    EXPECT_EQ(error.offset, 20u);
    EXPECT_EQ(mapping.map(-1, {0, 100}, Direction::read).code, EBADF);
}

TEST_P(FileMappingTest, file_that_shrank_is_an_error_of_populate) {
    file.fill(pattern(4 * page_bytes(), 1));
    FileMapping mapping;
    ASSERT_FALSE(mapping.map(file.fd(), {0, 4 * page_bytes()}, Direction::write));
    ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(page_bytes())), 0);
    std::array const touched{Extent{0, 1}, Extent{3 * page_bytes(), 3 * page_bytes() + 1}};
    for (auto const direction : {Direction::read, Direction::write}) {
        auto const error = mapping.populate(touched, direction);
        EXPECT_EQ(error.code, EFAULT);
        EXPECT_STREQ(error.call, "madvise");
    }
    EXPECT_FALSE(mapping.populate({touched.data(), 1}, Direction::write));
}

TEST_P(FileMappingTest, writing_fills_no_holes_between_the_extents) {
    constexpr std::uint64_t file_pages = 64;
    ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(file_pages * page_bytes())), 0);
    FileMapping mapping;
    ASSERT_FALSE(mapping.map(file.fd(), {0, file_pages * page_bytes()}, Direction::write));
    auto const far = 32 * page_bytes();
    auto const near = far + 2 * page_bytes();
    std::array const touched{Extent{100, 200}, Extent{far, far + 1}, Extent{near, near + 1}};
    ASSERT_FALSE(mapping.populate(touched, Direction::write));
    for (auto const& extent : touched) *mapping.at(extent.begin) = std::byte{1};

    ASSERT_EQ(fsync(file.fd()), 0);
    struct stat status {};
    ASSERT_EQ(fstat(file.fd(), &status), 0);
    auto const pages = static_cast<std::uint64_t>(status.st_blocks) * 512 / page_bytes();
    EXPECT_GE(pages, 3u);
    EXPECT_LE(pages, 12u);  // file systems may fill holes in units of several pages
    std::vector<std::byte> expected(file_pages * page_bytes());
    for (auto const& extent : touched) expected[extent.begin] = std::byte{1};
    EXPECT_TRUE(file.contents() == expected);
}

INSTANTIATE_TEST_SUITE_P(Folders, FileMappingTest, testing::ValuesIn(test_folders()),
                         [](auto const& info) {
                             return info.param == "/dev/shm" ? std::string("memory") : "disk";
                         });

TEST(FileMapping, full_file_system_is_an_error_of_populate) {
    auto const capacity_bytes = 64 * page_bytes();
    SmallFileSystem const small(capacity_bytes);
    if (small.folder().empty()) GTEST_SKIP() << "mounting is not allowed";
    TemporaryFile const file(small.folder());
    Extent const twice{0, 2 * capacity_bytes};
    ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(twice.end)), 0);
    FileMapping mapping;
    ASSERT_FALSE(mapping.map(file.fd(), twice, Direction::write));
    EXPECT_EQ(mapping.populate({&twice, 1}, Direction::write).code, EFAULT);
}

}  // namespace

}  // namespace unisono
