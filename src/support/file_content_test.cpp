#include "support/file_content.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace unisono {
namespace {

TEST(FileContent, is_all_of_it) {
    auto const path = std::filesystem::temp_directory_path() /
                      ("unisono-file-content-" + std::to_string(getpid()));
    for (auto const bytes : {0, 1, 4096, 10'000}) {
        std::string const content(static_cast<std::size_t>(bytes), '\n');
        std::ofstream{path, std::ios::binary} << content;
        EXPECT_EQ(file_content(path), content);
    }
    std::filesystem::remove(path);
}

// The iterators that read it before threw, which ended the program where the hints were a folder.
TEST(FileContent, is_nothing_of_what_cannot_be_read) {
    EXPECT_EQ(file_content("/"), std::nullopt);
    EXPECT_EQ(file_content("/no/such/file"), std::nullopt);
    EXPECT_EQ(file_content("/proc/self/mem"), std::nullopt);
}

}  // namespace
}  // namespace unisono
