#include "report/trace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace unisono {
namespace {

namespace fs = std::filesystem;

// A folder in which others may write, too.
class SharedFolder : public ::testing::Test {
protected:
    SharedFolder() {
        auto name = (fs::temp_directory_path() / "trace_test.XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~SharedFolder() override { fs::remove_all(folder_); }

    void put_pipe(std::string const& name) const {
        ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0666), 0);
    }

    fs::path folder_;
};

TEST_F(SharedFolder, with_a_pipe_for_a_mark_holds_nobody_up) {
    put_pipe("disabled");
    leave_mark(folder_.string(), "disabled");
}

TEST_F(SharedFolder, with_a_link_for_a_mark_leaves_alone_where_it_leads) {
    auto const precious = folder_ / "precious";
    std::ofstream{precious} << "much";
    fs::create_symlink(precious, folder_ / "disabled");
    leave_mark(folder_.string(), "disabled");
    EXPECT_EQ(fs::file_size(precious), 4u);
}

TEST_F(SharedFolder, with_pipes_under_all_names_that_can_be_known_holds_no_trace_up) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    auto const stem = std::string{host.data()} + '.' + std::to_string(getpid()) + '.';
    for (int file = 1; file <= 100; ++file) put_pipe(stem + std::to_string(file) + ".json.next");
    Trace trace{folder_.string()};
    trace.keep(FileReport{});
    auto kept = 0;
    for (auto const& entry : fs::directory_iterator{folder_})
        if (entry.is_regular_file() && entry.path().extension() == ".json") ++kept;
    EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace unisono
