#include "backends/posix.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "backends/run.hpp"
#include "backends/test_support.hpp"

namespace unisono {

namespace {

// While one exists, every other call is interrupted and the others move at most `bytes_max` bytes.
struct Disturbance {
    explicit Disturbance(std::uint64_t bytes) : bytes_max(bytes) { active = this; }
    Disturbance(Disturbance const&) = delete;
    Disturbance& operator=(Disturbance const&) = delete;
    ~Disturbance() { active = nullptr; }

    static inline Disturbance* active = nullptr;
    std::uint64_t bytes_max;
    unsigned calls = 0;
};

// Tells the kernel the same as the C library would, but perhaps less of it.
ssize_t disturbed(long number, int fd, iovec const* memory, int count, off_t offset) {
    auto* const disturbance = Disturbance::active;
    if (disturbance == nullptr) return syscall(number, fd, memory, count, offset, 0);
    if (++disturbance->calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    iovec const less{memory->iov_base, std::min(memory->iov_len, disturbance->bytes_max)};
    return syscall(number, fd, &less, 1, offset, 0);
}

}  // namespace

}  // namespace unisono

// These stand before those of the C library for the code under test.
extern "C" __attribute__((visibility("default"))) ssize_t preadv(int fd, iovec const* memory,
                                                                 int count, off_t offset) {
    return unisono::disturbed(SYS_preadv, fd, memory, count, offset);
}

extern "C" __attribute__((visibility("default"))) ssize_t pwritev(int fd, iovec const* memory,
                                                                  int count, off_t offset) {
    return unisono::disturbed(SYS_pwritev, fd, memory, count, offset);
}

extern "C" __attribute__((visibility("default"))) ssize_t pread(int fd, void* memory,
                                                                std::size_t bytes, off_t offset) {
    iovec const one{memory, bytes};
    return unisono::disturbed(SYS_preadv, fd, &one, 1, offset);
}

extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int fd, void const* memory,
                                                                 std::size_t bytes, off_t offset) {
    iovec const one{const_cast<void*>(memory), bytes};
    return unisono::disturbed(SYS_pwritev, fd, &one, 1, offset);
}

namespace unisono {

namespace {

TEST(Posix, goes_on_after_short_transfers_and_interruptions) {
    TemporaryFile const file(test_folders().front());
    auto const backend = make_posix_backend(file.fd());
    auto memory = pattern(1000, 1);
    std::vector<Transfer> const list{
        {0, &memory[0], 300}, {300, &memory[300], 200}, {600, &memory[500], 500}};
    Disturbance const disturbance(7);
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, 1000u);
    // 300 / 7, 200 / 7 and 500 / 7, rounded up, each call interrupted once before.
    EXPECT_EQ(disturbance.calls, 2u * (43 + 29 + 72));
    auto const expected = memory;
    std::fill(memory.begin(), memory.end(), std::byte{});
    EXPECT_EQ(backend->perform(Direction::read, list).bytes, 1000u);
    EXPECT_TRUE(memory == expected);
}

TEST(CollectRun, joins_what_is_adjacent_in_the_file_and_skips_empty_transfers) {
    std::byte memory[100];
    std::vector<Transfer> const list{{10, memory, 5},
                                     {15, memory + 50, 10},
                                     {25, nullptr, 0},
                                     {25, memory + 20, 5},
                                     {31, memory + 30, 5}};
    std::vector<iovec> pieces;
    auto const run = collect_run(list, {0, 2}, run_bytes_max, pieces);
    EXPECT_EQ(run.offset, 12u);
    EXPECT_EQ(run.bytes, 18u);  // 3 + 10 + 5
    ASSERT_EQ(pieces.size(), 3u);
    EXPECT_EQ(pieces[0].iov_base, memory + 2);
    EXPECT_EQ(pieces[2].iov_len, 5u);

    auto const next = advance(list, {0, 2}, run.bytes);
    EXPECT_EQ(next.index, 4u);
    EXPECT_EQ(next.done_bytes, 0u);
}

TEST(CollectRun, is_bounded_in_bytes_and_entries) {
    std::byte memory{};
    std::vector<iovec> pieces;
    std::vector<Transfer> const huge{{0, &memory, 5 * run_bytes_max}};
    EXPECT_EQ(collect_run(huge, {}, run_bytes_max, pieces).bytes, run_bytes_max);
    EXPECT_EQ(collect_run(huge, {0, 5 * run_bytes_max - 1}, run_bytes_max, pieces).bytes, 1u);

    std::vector<Transfer> many;
    for (std::uint64_t i = 0; i < 3000; ++i) many.push_back({i, &memory, 1});
    EXPECT_EQ(collect_run(many, {}, run_bytes_max, pieces).bytes, std::uint64_t{IOV_MAX});
}

TEST(BytesBefore, counts_the_bytes_of_the_list_only) {
    std::vector<Transfer> const list{{10, nullptr, 10}, {30, nullptr, 10}};
    EXPECT_EQ(bytes_before(list, 5), 0u);
    EXPECT_EQ(bytes_before(list, 25), 10u);
    EXPECT_EQ(bytes_before(list, 33), 13u);
    EXPECT_EQ(bytes_before(list, IoResult::nowhere), 20u);
}

}  // namespace

}  // namespace unisono
