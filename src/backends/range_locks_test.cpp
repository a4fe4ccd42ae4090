#include "backends/range_locks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace unisono {
namespace {

class Locked : public testing::Test {
protected:
    Locked() { unlink(path_.c_str()); }
    ~Locked() override {
        close(one_);
        close(other_);
        unlink(path_.c_str());
    }

    // Of the older kind, on a description of its own, as another process would ask for it.
    [[nodiscard]] bool free_for_others(short type, off_t begin, off_t bytes) const {
        struct flock lock {};
        lock.l_type = type;
        lock.l_start = begin;
        lock.l_len = bytes;
        EXPECT_EQ(fcntl(other_, F_OFD_GETLK, &lock), 0);
        return lock.l_type == F_UNLCK;
    }

    std::string path_ =
        std::filesystem::temp_directory_path() / ("range-locks-" + std::to_string(getpid()));
    int one_ = open(path_.c_str(), O_RDWR | O_CREAT, 0600);
    int other_ = open(path_.c_str(), O_RDWR);
    RangeLocks locks_{one_};
};

TEST_F(Locked, range_is_nobody_elses_until_it_is_let_go) {
    ASSERT_TRUE(locks_.work(Direction::write));
    {
        RangeLocks::Held const held{locks_, Direction::write, {10, 20}};
        EXPECT_EQ(held.error(), 0);
        EXPECT_FALSE(free_for_others(F_RDLCK, 19, 1));
        EXPECT_TRUE(free_for_others(F_WRLCK, 20, 100));
        EXPECT_TRUE(free_for_others(F_WRLCK, 0, 10));
    }
    EXPECT_TRUE(free_for_others(F_WRLCK, 0, 100));
}

TEST_F(Locked, readers_do_not_exclude_each_other) {
    RangeLocks::Held const held{locks_, Direction::read, {0, 20}};
    EXPECT_TRUE(free_for_others(F_RDLCK, 0, 20));
    EXPECT_FALSE(free_for_others(F_WRLCK, 0, 20));
}

TEST_F(Locked, threads_exclude_each_other) {
    std::atomic<bool> released = false;
    std::thread other;
    {
        RangeLocks::Held const held{locks_, Direction::write, {0, 20}};
        other = std::thread{[&] {
            RangeLocks::Held const later{locks_, Direction::write, {0, 20}};
            EXPECT_TRUE(released);
        }};
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        released = true;
    }
    other.join();
}

TEST_F(Locked, nothing_needs_no_lock_and_a_wrong_descriptor_is_an_error) {
    RangeLocks::Held const nothing{locks_, Direction::write, {5, 5}};
    EXPECT_EQ(nothing.error(), 0);
    EXPECT_TRUE(free_for_others(F_WRLCK, 0, 0));
    RangeLocks wrong{-1};
    EXPECT_FALSE(wrong.work(Direction::read));
    RangeLocks::Held const held{wrong, Direction::read, {0, 1}};
    EXPECT_EQ(held.error(), EBADF);
}

}  // namespace
}  // namespace unisono
