#include "execute/direct.hpp"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "execute/collective_cases.hpp"
#include "support/descriptor.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t data_bytes = (2 << 20) + 1000;
constexpr std::uint64_t last_part_bytes = 1000;
constexpr std::int64_t begin = 512;  // in the file

// The byte there.
bool others_may_lock(TemporaryFile const& file, std::uint64_t at) {
    auto const path = "/proc/self/fd/" + std::to_string(file.descriptor());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    Descriptor const other{open(path.c_str(), O_RDWR | O_CLOEXEC)};
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = static_cast<off_t>(at);
    lock.l_len = 1;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    EXPECT_EQ(fcntl(other.get(), F_OFD_GETLK, &lock), 0);
    return lock.l_type == F_UNLCK;
}

/// Data in pieces of 8 bytes in memory, one piece in the file: packed part by part.
class PackedWrite : public testing::Test {
protected:
    PackedWrite() {
        counts->on_access = [this](Direction, std::span<Transfer const> list) {
            for (auto const& one : list) log.push_back({one.offset, one.offset + one.bytes});
        };
        storage.descriptor = file.descriptor();
        storage.grows_alone = true;
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte(i * 7 / 16);
    }

    IoResult write() {
        Request const request{.view = {make_dense(1), begin, 1},
                              .positions = {0, data_bytes},
                              .memory = {make_dense(8), 0, 16},
                              .base = reinterpret_cast<std::uintptr_t>(memory.data())};
        storage.backend = make_counted_backend(
            make_fault_backend(make_posix_backend(file.descriptor()), faults), counts);
        CallRecord record;
        return perform_direct(request, request.positions, storage, record);
    }
    void expect_all_there() const {
        auto const contents = file.contents();
        ASSERT_EQ(contents.size(), begin + data_bytes);
        for (std::uint64_t i = 0; i < data_bytes; ++i)
            ASSERT_EQ(contents[begin + i], memory[i / 8 * 16 + i % 8]) << i;
    }

    TemporaryFile file;
    Storage storage;
    std::string faults;
    std::shared_ptr<BackendCounts> counts = std::make_shared<BackendCounts>();
    std::vector<Extent> log;
    std::vector<std::byte> memory = std::vector<std::byte>(2 * data_bytes);
};

TEST_F(PackedWrite, its_last_part_goes_first_where_longer_files_are_written_alone) {
    EXPECT_EQ(write().bytes, data_bytes);
    ASSERT_FALSE(log.empty());
    EXPECT_EQ(log.front(), (Extent{begin + data_bytes - last_part_bytes, begin + data_bytes}));
    EXPECT_EQ(log.size(), 3u);
    expect_all_there();
}

TEST_F(PackedWrite, goes_in_order_elsewhere) {
    storage.grows_alone = false;
    EXPECT_EQ(write().bytes, data_bytes);
    EXPECT_EQ(log.front().begin, std::uint64_t{begin});
    EXPECT_EQ(log.size(), 3u);
    expect_all_there();
}

TEST_F(PackedWrite, counts_what_lies_before_what_failed) {
    faults = "write@" + std::to_string(begin + (1 << 20) + 17) + "=EIO";
    auto const result = write();
    EXPECT_EQ(result.error.code, EIO);
    EXPECT_EQ(result.bytes, result.stopped_at - begin);
    EXPECT_LT(result.bytes, data_bytes);
}

TEST_F(PackedWrite, whose_last_part_cannot_be_written_fails_as_ever) {
    faults = "write@" + std::to_string(begin + data_bytes - 1) + "=ENOSPC";
    auto const result = write();
    EXPECT_EQ(result.error.code, ENOSPC);
    EXPECT_GE(result.bytes, 2u << 20);
    EXPECT_LT(result.bytes, data_bytes);
    EXPECT_EQ(file.contents()[begin], memory[0]);
}

// Half of it was enough for all tests that there were.
TEST_F(PackedWrite, has_all_of_its_range_to_itself_in_atomic_mode) {
    storage.range_locks = std::make_shared<RangeLocks>(storage.descriptor);
    counts->on_access = [this](Direction, std::span<Transfer const>) {
        EXPECT_TRUE(others_may_lock(file, begin - 1));
        EXPECT_FALSE(others_may_lock(file, begin));
        EXPECT_FALSE(others_may_lock(file, begin + data_bytes - 1));
        EXPECT_TRUE(others_may_lock(file, begin + data_bytes));
    };
    EXPECT_EQ(write().bytes, data_bytes);
    EXPECT_TRUE(others_may_lock(file, begin));
}

/// A rank is about to write the first bytes of a page, which nodes share.
class PageToWrite : public testing::Test {
protected:
    PageToWrite() {
        storage.descriptor = file.descriptor();
        storage.page_locks = std::make_shared<RangeLocks>(storage.descriptor);
    }
    // Its last byte.
    [[nodiscard]] bool others_may_lock_it() const { return others_may_lock(file, 4095); }

    TemporaryFile file;
    Storage storage;
    Request request{.view = {make_dense(1), 0, 1}, .positions = {0, 100}};
};

TEST_F(PageToWrite, is_nobody_elses_meanwhile) {
    {
        PageLock const lock{request, storage, /*shared=*/true};
        EXPECT_FALSE(lock.error());
        EXPECT_FALSE(others_may_lock_it());
    }
    EXPECT_TRUE(others_may_lock_it());
    PageLock const lock{request, storage, /*shared=*/false};
    EXPECT_TRUE(others_may_lock_it());
}

// The one that was through first gave up both threads' locks.
TEST_F(PageToWrite, is_not_given_up_by_another_thread_of_the_rank) {
    std::atomic<bool> written = false;
    std::thread other;
    {
        PageLock const lock{request, storage, /*shared=*/true};
        other = std::thread{[&] {
            PageLock const later{request, storage, /*shared=*/true};
            EXPECT_TRUE(written);
        }};
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        written = true;
    }
    other.join();
}

// Locks on one open file do not nest: the request's own, given up, would cut a hole into this one.
TEST_F(PageToWrite, is_not_locked_in_atomic_mode) {
    storage.range_locks = std::make_shared<RangeLocks>(storage.descriptor);
    PageLock const lock{request, storage, /*shared=*/true};
    EXPECT_TRUE(others_may_lock_it());
}

TEST_F(PageToWrite, that_cannot_be_locked_is_an_error) {
    storage.page_locks = std::make_shared<RangeLocks>(-1);
    PageLock const lock{request, storage, /*shared=*/true};
    EXPECT_EQ(lock.error().code, EBADF);
}

}  // namespace
}  // namespace unisono
