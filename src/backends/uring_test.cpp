#include "backends/uring.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"
#include "support/descriptor.hpp"

namespace unisono {

namespace {

// Null where the kernel has no rings: nothing to be tested.
std::unique_ptr<Backend> uring(int fd) {
    auto backend = make_uring_backend(fd, make_posix_backend(fd));
    return backend->name() == "uring" ? std::move(backend) : nullptr;
}

// Death tests run in a process of their own, begun anew.
class UringDeath : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void expect_system_calls_without(unsigned system_call) {
    forbid_system_call(system_call);
    TemporaryFile const file(test_folders().front());
    auto byte = pattern(1, 1);
    Transfer const one{300, byte.data(), 1};
    auto const backend = make_uring_backend(file.fd(), make_posix_backend(file.fd()));
    bool const written = backend->start(Direction::write, {&one, 1})->wait().bytes == 1;
    unlink(file.path().c_str());
    std::_Exit(written && backend->name() == "posix" ? 0 : 1);
}

TEST_F(UringDeath, system_calls_where_rings_cannot_be_made) {
    EXPECT_EXIT(expect_system_calls_without(SYS_io_uring_setup), testing::ExitedWithCode(0), "");
}

TEST_F(UringDeath, system_calls_where_rings_cannot_be_used) {
    EXPECT_EXIT(expect_system_calls_without(SYS_io_uring_enter), testing::ExitedWithCode(0), "");
}

void forbid_rings() { forbid_system_call(SYS_io_uring_enter); }

// As a program that becomes a daemon, and opens something else.
void take_rings_numbers() {
    auto const null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int number = 0; number < 1024; ++number)
        if (path_of(number) == "anon_inode:[io_uring]") dup2(null, number);
}

// Two accesses are under way in the ring when the kernel stops accepting calls for it.
void lose_the_ring_under_way(void (*lose)()) {
    TemporaryFile const file(test_folders().front());
    auto const backend = uring(file.fd());
    if (!backend) std::_Exit(0);
    auto memory = pattern(4000, 1);
    std::vector<Transfer> list;
    for (std::uint64_t i = 0; i < 400; ++i) list.push_back({i * 20, &memory[i * 10], 10});
    auto const first = backend->start(Direction::write, list);
    auto const second = backend->start(Direction::write, list);
    lose();
    bool const all = first->wait().bytes == 4000 && second->wait().bytes == 4000 &&
                     backend->perform(Direction::write, list).bytes == 4000 &&
                     backend->name() == "posix";
    auto const contents = file.contents();
    bool right = contents.size() == 399 * 20 + 10;
    for (std::size_t i = 0; right && i < contents.size(); ++i) {
        right = contents[i] == (i % 20 < 10 ? memory[i / 20 * 10 + i % 20] : std::byte{});
    }
    unlink(file.path().c_str());
    std::_Exit(all && right ? 0 : 1);
}

TEST_F(UringDeath, system_calls_take_over_when_rings_are_forbidden_later) {
    EXPECT_EXIT(lose_the_ring_under_way(forbid_rings), testing::ExitedWithCode(0), "");
}

TEST_F(UringDeath, system_calls_take_over_when_the_program_takes_the_rings_number) {
    EXPECT_EXIT(lose_the_ring_under_way(take_rings_numbers), testing::ExitedWithCode(0), "");
}

class UringPipe : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(pipe(ends), 0);
        backend = uring(ends[0]);
        if (!backend) GTEST_SKIP() << "no io_uring on this machine";
    }
    void TearDown() override {
        backend.reset();
        close(ends[0]);
        close(ends[1]);
    }

    int ends[2] = {-1, -1};
    std::unique_ptr<Backend> backend;
    std::array<std::byte, 4> memory{};
    Transfer const transfer{0, memory.data(), memory.size()};
};

TEST_F(UringPipe, start_does_not_wait_and_wait_resumes_short_transfers) {
    auto const pending = backend->start(Direction::read, {&transfer, 1});
    ASSERT_EQ(write(ends[1], "ab", 2), 2);  // only now there is something to read
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(write(ends[1], "cd", 2), 2);
    });
    EXPECT_EQ(pending->wait().bytes, 4u);
    later.join();
    EXPECT_EQ(memory[3], std::byte{'d'});
}

TEST_F(UringPipe, destroying_a_pending_access_waits_for_it) {
    auto pending = backend->start(Direction::read, {&transfer, 1});
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(write(ends[1], "abcd", 4), 4);
    });
    pending.reset();
    EXPECT_EQ(memory[3], std::byte{'d'});
    later.join();
}

// Linux 6.18 forgets one now and then: the kernel's workers end with the last ring. (The fuzzer saw
// it once in 10,000 cases; this loop alone did not.)
TEST(Uring, rings_that_come_and_go_lose_no_access) {
    TemporaryFile const file(test_folders().front());
    auto byte = pattern(1, 1);
    Transfer const one{300, byte.data(), 1};
    for (int round = 0; round < 3000; ++round) {
        auto const backend = uring(file.fd());
        if (!backend) GTEST_SKIP() << "no io_uring on this machine";
        ASSERT_EQ(backend->start(Direction::write, {&one, 1})->wait().bytes, 1U);
    }
}

TEST(Uring, more_accesses_than_the_ring_has_entries) {
    TemporaryFile const file(test_folders().front());
    auto const backend = uring(file.fd());
    if (!backend) GTEST_SKIP() << "no io_uring on this machine";
    auto memory = pattern(30000, 1);
    std::vector<Transfer> list;
    for (std::uint64_t i = 0; i < 300; ++i) list.push_back({i * 200, &memory[i * 100], 100});
    std::vector<std::unique_ptr<PendingIo>> pending;
    for (std::size_t i = 0; i < 30; ++i) {
        pending.push_back(backend->start(Direction::write, std::span(list).subspan(i * 10, 10)));
    }
    for (auto const& access : pending) EXPECT_EQ(access->wait().bytes, 1000u);
    EXPECT_EQ(file.size(), 299u * 200 + 100);
}

}  // namespace

}  // namespace unisono
