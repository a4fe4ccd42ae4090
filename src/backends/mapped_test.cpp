#include "backends/mapped.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "backends/fault.hpp"
#include "backends/posix.hpp"
#include "backends/test_support.hpp"
#include "layouts/file_system.hpp"

namespace unisono {

namespace {

// Passes on to system calls and counts. Writes may have to wait, as for the file's lock.
class Counter final : public Backend {
public:
    Counter(int fd, std::uint64_t& bytes, std::chrono::milliseconds const& wait)
        : posix_(make_posix_backend(fd)), bytes_(bytes), wait_(wait) {}

    [[nodiscard]] std::string_view name() const override { return "counter"; }

    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        if (direction == Direction::write) std::this_thread::sleep_for(wait_);
        auto const result = posix_->perform(direction, list);
        bytes_ += result.bytes;
        return result;
    }
    Error sync() override { return posix_->sync(); }

private:
    std::unique_ptr<Backend> posix_;
    std::uint64_t& bytes_;
    std::chrono::milliseconds const& wait_;
};

class MappedTest : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        struct stat status {};
        fstat(file.fd(), &status);
        if (!file_system_facts(file.fd(), status).keeps_blocks)
            GTEST_SKIP() << "not mapped on this file system";
        backend = make_mapped_backend(
            file.fd(), std::make_unique<Counter>(file.fd(), by_call, wait), mmap_safe_bytes);
        for (std::uint64_t i = 0; i < memory.size() / 64; ++i) {
            list.push_back({i * 128, &memory[i * 64], 64});
        }
    }

    TemporaryFile file{GetParam()};
    MmapSafeBytes mmap_safe_bytes = std::make_shared<std::atomic<std::uint64_t>>(~std::uint64_t{0});
    std::uint64_t by_call = 0;  // bytes moved by the fallback
    std::chrono::milliseconds wait{0};
    std::unique_ptr<Backend> backend;
    std::vector<std::byte> memory = pattern(1 << 20, 1);
    std::vector<Transfer> list;  // 64 of every 128 bytes
};

// Linux zeroes the end of what was the file's last page after others can see the new size.
TEST_P(MappedTest, bytes_to_which_somebody_may_still_be_growing_the_file_are_not_mapped) {
    file.fill(std::vector<std::byte>(2 * memory.size()));
    *mmap_safe_bytes = memory.size();
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, memory.size());
    EXPECT_EQ(by_call, memory.size()) << "the list fits one mapping: none of it";
    *mmap_safe_bytes = 2 * memory.size();
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, memory.size());
    EXPECT_EQ(by_call, memory.size());
}

TEST_P(MappedTest, overwriting_and_reading_small_pieces_takes_no_system_calls) {
    file.fill(std::vector<std::byte>(2 * memory.size()));
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, memory.size());
    EXPECT_EQ(backend->perform(Direction::read, list).bytes, memory.size());
    EXPECT_EQ(by_call, 0u);
}

TEST_P(MappedTest, large_and_far_pieces_go_by_system_call) {
    std::vector<Transfer> const large{{0, &memory[0], 1 << 19},
                                      {1 << 20, &memory[1 << 19], 1 << 19}};
    EXPECT_EQ(backend->perform(Direction::write, large).bytes, memory.size());
    EXPECT_EQ(by_call, memory.size());

    std::vector<Transfer> far;
    for (std::uint64_t i = 0; i < 16; ++i) far.push_back({i << 16, &memory[i], 1});
    EXPECT_EQ(backend->perform(Direction::read, far).bytes, 16u);
    EXPECT_EQ(by_call, memory.size() + 16);
}

// 16 ranks that overwrote one file had what one core copies, 4.2 GB/s.
TEST_P(MappedTest, large_pieces_are_overwritten_without_calls_that_wait_for_each_other) {
    constexpr std::size_t bytes = (9 << 20) + 5;  // several mappings
    file.fill(std::vector<std::byte>(3 + bytes));
    *mmap_safe_bytes = 3 + bytes;
    auto const overwrite = [&](unsigned seed) {
        auto data = pattern(bytes, seed);
        std::vector<Transfer> const piece{{3, data.data(), bytes}};
        EXPECT_EQ(backend->perform(Direction::write, piece).bytes, bytes);
        data.insert(data.begin(), 3, std::byte{0});
        EXPECT_EQ(file.contents(), data);
    };
    wait = std::chrono::milliseconds{500};
    for (unsigned call = 0; call < 4; ++call) overwrite(call);
    EXPECT_EQ(by_call, 4 * bytes);
    overwrite(4);
    EXPECT_EQ(by_call, 4 * bytes);
    *mmap_safe_bytes = 9 << 20;
    overwrite(5);
    EXPECT_EQ(by_call, 5 * bytes) << "where somebody may be growing it";
}

TEST_P(MappedTest, growing_is_done_by_system_calls_with_their_errors_and_counts) {
    auto const faulty = make_mapped_backend(
        file.fd(), make_fault_backend(make_posix_backend(file.fd()), "write@999970=EDQUOT"),
        mmap_safe_bytes);
    auto const result = faulty->perform(Direction::write, list);
    EXPECT_EQ(result.error.code, EDQUOT);
    EXPECT_EQ(result.stopped_at, 999970u);
}

INSTANTIATE_TEST_SUITE_P(Folders, MappedTest, testing::ValuesIn(test_folders()),
                         [](auto const& info) {
                             return info.param == "/dev/shm" ? std::string("memory") : "disk";
                         });

}  // namespace

}  // namespace unisono
