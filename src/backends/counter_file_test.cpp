#include "backends/counter_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>

namespace unisono {
namespace {

namespace fs = std::filesystem;

class Counting : public testing::Test {
protected:
    Counting() { fs::create_directory(folder_); }
    ~Counting() override { fs::remove_all(folder_); }

    fs::path folder_ = fs::temp_directory_path() / ("counter-file-" + std::to_string(getpid()));
    std::string path_ = CounterFile::beside((folder_ / "data.h5").string(), 0xabc);
};

TEST_F(Counting, its_name_is_hidden_and_tells_whose_it_is) {
    EXPECT_EQ(path_, (folder_ / ".data.h5.shared-pointer-abc").string());
    EXPECT_EQ(CounterFile::beside("data", 16), ".data.shared-pointer-10");
    EXPECT_LE(CounterFile::beside(std::string(255, 'x'), ~std::uint64_t{0}).size(), 255u);
}

TEST_F(Counting, who_only_reads_makes_no_file) {
    CounterFile counters{path_};
    EXPECT_EQ(counters.read(5).value, 0);
    EXPECT_EQ(counters.read(5).error, 0);
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Counting, counters_do_not_touch_each_other) {
    CounterFile one{path_}, other{path_};
    EXPECT_EQ(one.add(3, 10).value, 0);
    EXPECT_EQ(other.add(3, 5).value, 10);
    EXPECT_EQ(one.add(4, 1).value, 0);
    EXPECT_EQ(one.read(3).value, 15);
    EXPECT_EQ(other.read(4).value, 1);
    EXPECT_EQ(other.read(2).value, 0);
    EXPECT_EQ(other.read(1000).value, 0);
}

TEST_F(Counting, what_would_be_too_much_is_not_counted) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    CounterFile counters{path_};
    EXPECT_EQ(counters.add(0, 5, 10).value, 0);
    EXPECT_EQ(counters.add(0, 6, 10).error, EOVERFLOW);
    EXPECT_EQ(counters.read(0).value, 5);
    EXPECT_EQ(counters.add(0, 5, 10).error, 0);
    EXPECT_EQ(counters.add(0, most - 10).error, 0);
    EXPECT_EQ(counters.add(0, most).error, EOVERFLOW);
    EXPECT_EQ(counters.read(0).value, most);
}

TEST_F(Counting, nothing_is_lost_where_many_count_at_once) {
    constexpr int ranks = 4, calls = 200;
    std::vector<std::thread> threads;
    threads.reserve(ranks);
    std::array<int, ranks * calls> seen{};
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&] {
            CounterFile counters{path_};
            for (int call = 0; call < calls; ++call)
                ++seen.at(static_cast<std::size_t>(counters.add(0, 1).value));
        });
    for (auto& thread : threads) thread.join();
    for (auto const times : seen) EXPECT_EQ(times, 1);
}

TEST_F(Counting, it_goes_when_all_are_done_and_is_the_owners_alone) {
    CounterFile one{path_}, other{path_}, reader{path_};
    EXPECT_EQ(one.add(0, 1).value, 0);
    EXPECT_EQ(other.add(0, 1).value, 1);
    EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    one.remove();
    other.remove();
    reader.remove();
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Counting, no_place_for_it_is_an_error) {
    CounterFile counters{(folder_ / "nowhere" / "x").string()};
    EXPECT_EQ(counters.add(0, 1).error, ENOENT);
    EXPECT_EQ(counters.read(0).error, 0);
}

}  // namespace
}  // namespace unisono
