// What every backend must do, whatever it is made of.

#include <unistd.h>

#include <cerrno>
#include <functional>
#include <random>
#include <thread>

#include "backends/fault.hpp"
#include "backends/mapped.hpp"
#include "backends/posix.hpp"
#include "backends/test_support.hpp"
#include "backends/threaded.hpp"
#include "backends/uring.hpp"

namespace unisono {

namespace {

MmapSafeBytes all_settled() {
    return std::make_shared<std::atomic<std::uint64_t>>(~std::uint64_t{0});
}

using Maker = std::unique_ptr<Backend> (*)(int fd);

struct Kind {
    char const* name;
    Maker make;
};

constexpr Kind kinds[] = {
    {"posix", [](int fd) { return make_posix_backend(fd); }},
    {"threads", [](int fd) { return make_threaded_backend(make_posix_backend(fd)); }},
    {"uring", [](int fd) { return make_uring_backend(fd, make_posix_backend(fd)); }},
    {"mapped",
     [](int fd) { return make_mapped_backend(fd, make_posix_backend(fd), all_settled()); }},
    {"mapped_short",
     [](int fd) {
         return make_mapped_backend(
             fd, make_fault_backend(make_posix_backend(fd), "read=short,write=short"),
             all_settled());
     }},
    {"short_mapped",
     [](int fd) {
         return make_fault_backend(make_mapped_backend(fd, make_posix_backend(fd), all_settled()),
                                   "read=short,write=short");
     }},
};

struct Access {
    std::vector<std::byte> memory;
    std::vector<Transfer> list;
};

// `count` transfers of 0 to `bytes_max` bytes with gaps of up to `gap_max` bytes, some of them
// adjacent in the file; the memory is in reverse order, so that no two can be merged.
Access random_access(std::mt19937& random, std::size_t count, std::uint64_t bytes_max,
                     std::uint64_t gap_max) {
    Access access;
    std::uint64_t offset = random() % (gap_max + 1);
    std::uint64_t memory_bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        auto const bytes = random() % (bytes_max + 1);
        access.list.push_back({offset, nullptr, bytes});
        offset += bytes + (random() % 3 == 0 ? 0 : random() % (gap_max + 1));
        memory_bytes += bytes;
    }
    access.memory = pattern(memory_bytes, static_cast<unsigned>(random()));
    auto* end = access.memory.data() + memory_bytes;
    for (auto& transfer : access.list) transfer.memory = end -= transfer.bytes;
    return access;
}

// Every piece size from where a mapping pays to where it does not.
Access random_access(std::mt19937& random) {
    struct Shape {
        std::size_t count;
        std::uint64_t bytes_max, gap_max;
    };
    constexpr Shape shapes[] = {{1, 100, 100},        {3000, 64, 64},    {2000, 200, 2000},
                                {5000, 8, 3000},      {300, 5000, 5000}, {40, 100000, 100000},
                                {1, 5000000, 100000}, {1500, 40, 1}};
    auto const& shape = shapes[random() % std::size(shapes)];
    return random_access(random, shape.count, shape.bytes_max, shape.gap_max);
}

std::uint64_t byte_count(std::vector<Transfer> const& list) {
    std::uint64_t bytes = 0;
    for (auto const& transfer : list) bytes += transfer.bytes;
    return bytes;
}

void write_to_model(std::vector<std::byte>& model, std::vector<Transfer> const& list) {
    for (auto const& transfer : list) {
        if (transfer.bytes == 0) continue;
        if (model.size() < transfer.offset + transfer.bytes) {
            model.resize(transfer.offset + transfer.bytes);
        }
        std::copy_n(transfer.memory, transfer.bytes, &model[transfer.offset]);
    }
}

// What a read of the list should give: memory is filled, and where it stops.
IoResult read_from_model(std::vector<std::byte> const& model, std::vector<Transfer> const& list,
                         std::function<std::byte*(Transfer const&)> const& memory) {
    IoResult result;
    for (auto const& transfer : list) {
        auto const there =
            intersect(Extent{transfer.offset, transfer.offset + transfer.bytes}, {0, model.size()});
        if (!there.empty()) std::copy_n(&model[there.begin], there.bytes(), memory(transfer));
        result.bytes += there.bytes();
        if (there.bytes() == transfer.bytes) continue;
        result.stopped_at = transfer.offset + there.bytes();
        break;
    }
    return result;
}

void expect_same(IoResult const& got, IoResult const& expected) {
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.stopped_at, expected.stopped_at);
    EXPECT_EQ(got.error.code, expected.error.code);
}

class EveryBackend : public testing::TestWithParam<std::tuple<Kind, std::string>> {
protected:
    void SetUp() override {
        backend = std::get<Kind>(GetParam()).make(file.fd());
        if (!backend) GTEST_SKIP() << "not possible on this machine";
    }

    void compare_read(std::vector<std::byte> const& model, Access access) {
        auto expected_memory = access.memory;
        auto const expected = read_from_model(model, access.list, [&](Transfer const& transfer) {
            return expected_memory.data() + (transfer.memory - access.memory.data());
        });
        expect_same(backend->perform(Direction::read, access.list), expected);
        EXPECT_TRUE(access.memory == expected_memory);
    }

    TemporaryFile file{std::get<std::string>(GetParam())};
    std::unique_ptr<Backend> backend;
};

TEST_P(EveryBackend, does_what_a_plain_array_would) {
    for (auto const seed : test_seeds()) {
        SCOPED_TRACE("UNISONO_TEST_SEED=" + std::to_string(seed));
        std::mt19937 random(seed);
        ASSERT_EQ(ftruncate(file.fd(), 0), 0);
        std::vector<std::byte> model = pattern(random() % 300000, seed);
        file.fill(model);
        for (int step = 0; step < 6; ++step) {
            auto access = random_access(random);
            if (random() % 3 == 0) {
                compare_read(model, std::move(access));
            } else {
                IoResult expected;
                expected.bytes = byte_count(access.list);
                expect_same(backend->perform(Direction::write, access.list), expected);
                write_to_model(model, access.list);
                ASSERT_TRUE(file.contents() == model);
            }
        }
    }
}

TEST_P(EveryBackend, started_accesses_run_at_the_same_time) {
    std::mt19937 random(1);
    constexpr std::size_t access_count = 6;
    std::vector<Access> accesses;
    std::vector<std::byte> model;
    for (std::size_t i = 0; i < access_count; ++i) {
        accesses.push_back(random_access(random, 200, 500, 500));
        for (auto& transfer : accesses.back().list) transfer.offset += i * 400000;
        write_to_model(model, accesses.back().list);
    }
    std::vector<std::unique_ptr<PendingIo>> pending;
    for (auto const& access : accesses) {
        pending.push_back(backend->start(Direction::write, access.list));
    }
    for (std::size_t i = access_count; i-- > 1;) {
        EXPECT_EQ(pending[i]->wait().bytes, byte_count(accesses[i].list));
    }
    pending.clear();  // waits for the one that nobody has waited for
    EXPECT_TRUE(file.contents() == model);
}

TEST_P(EveryBackend, threads_may_share_it) {
    constexpr std::size_t thread_count = 4;
    std::vector<std::byte> model;
    std::vector<Access> accesses;
    std::mt19937 random(2);
    for (std::size_t i = 0; i < thread_count; ++i) {
        accesses.push_back(random_access(random, 1000, 60, 60));
        for (auto& transfer : accesses.back().list) transfer.offset += i * 200000;
        write_to_model(model, accesses.back().list);
    }
    std::vector<std::thread> threads;
    for (auto const& access : accesses) {
        threads.emplace_back([&] {
            auto const pending = backend->start(Direction::write, access.list);
            EXPECT_EQ(pending->wait().bytes, byte_count(access.list));
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(file.contents() == model);
}

TEST_P(EveryBackend, thread_that_started_an_access_may_end_before_it_is_waited_for) {
    auto access = Access{pattern(1 << 20, 3), {}};
    for (std::uint64_t i = 0; i < 16; ++i) {
        access.list.push_back({i << 17, access.memory.data() + (i << 16), 1 << 16});
    }
    std::unique_ptr<PendingIo> pending;
    std::thread([&] { pending = backend->start(Direction::write, access.list); }).join();
    EXPECT_EQ(pending->wait().bytes, access.memory.size());
    std::vector<std::byte> model;
    write_to_model(model, access.list);
    EXPECT_TRUE(file.contents() == model);
}

TEST_P(EveryBackend, empty_lists_and_empty_transfers_do_nothing) {
    std::byte byte{};
    std::vector<Transfer> const empty_transfers{{5, &byte, 0}, {1000, nullptr, 0}};
    for (auto const direction : {Direction::read, Direction::write}) {
        expect_same(backend->perform(direction, {}), {});
        expect_same(backend->perform(direction, empty_transfers), {});
        expect_same(backend->start(direction, {})->wait(), {});
    }
    EXPECT_EQ(file.size(), 0u);
}

TEST_P(EveryBackend, limit_on_the_file_size_is_an_error_with_the_true_count) {
    // 50 pieces of 100 bytes every 200; the limit cuts piece 25, [5000, 5100), after 50 bytes.
    auto memory = pattern(5000, 4);
    std::vector<Transfer> list;
    for (std::uint64_t i = 0; i < 50; ++i) list.push_back({i * 200, &memory[i * 100], 100});
    FileSizeLimit const limit(5050);
    auto const result = backend->perform(Direction::write, list);
    EXPECT_EQ(result.error.code, EFBIG);
    EXPECT_EQ(result.error.offset, 5050u);
    EXPECT_EQ(result.stopped_at, 5050u);
    EXPECT_EQ(result.bytes, 2550u);
    EXPECT_EQ(file.size(), 5050u);
}

TEST_P(EveryBackend, error_of_the_first_byte_is_reported) {
    std::byte byte{};
    Transfer const transfer{7, &byte, 1};
    auto const closed = std::get<Kind>(GetParam()).make(-1);
    for (auto const direction : {Direction::read, Direction::write}) {
        auto const result = closed->perform(direction, {&transfer, 1});
        EXPECT_EQ(result.error.code, EBADF);
        EXPECT_STRNE(result.error.call, "");
        EXPECT_EQ(result.stopped_at, 7u);
        EXPECT_EQ(result.bytes, 0u);
    }
}

TEST_P(EveryBackend, memory_that_is_not_there_is_an_error) {
    file.fill(pattern(100, 1));
    Transfer const transfer{0, reinterpret_cast<std::byte*>(16), 100};
    EXPECT_EQ(backend->perform(Direction::read, {&transfer, 1}).error.code, EFAULT);
    EXPECT_EQ(backend->perform(Direction::write, {&transfer, 1}).error.code, EFAULT);
}

TEST_P(EveryBackend, full_file_system_is_an_error_with_the_true_count) {
    constexpr std::uint64_t capacity_bytes = 512 << 10;
    SmallFileSystem const small(capacity_bytes);
    if (small.folder().empty()) GTEST_SKIP() << "mounting is not allowed";
    TemporaryFile const full(small.folder());
    auto const on_full = std::get<Kind>(GetParam()).make(full.fd());

    // 64 bytes of every 128, of 1 MiB: twice as many pages as there are.
    auto memory = pattern(512 << 10, 5);
    std::vector<Transfer> list;
    for (std::uint64_t i = 0; i < 8192; ++i) list.push_back({i * 128, &memory[i * 64], 64});
    auto const result = on_full->perform(Direction::write, list);
    EXPECT_EQ(result.error.code, ENOSPC);
    EXPECT_GT(result.stopped_at, 0u);
    EXPECT_LE(result.stopped_at, capacity_bytes);
    EXPECT_EQ(result.bytes, result.stopped_at / 2);
    auto got = full.contents();
    got.resize(std::min(got.size(), result.stopped_at));  // it may have grown before it was full
    for (std::uint64_t i = 0; i < got.size() / 128; ++i) {
        ASSERT_EQ(got[i * 128], memory[i * 64]) << i;
        ASSERT_EQ(got[i * 128 + 64], std::byte{}) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryBackend,
                         testing::Combine(testing::ValuesIn(kinds),
                                          testing::ValuesIn(test_folders())),
                         [](auto const& info) {
                             auto const* const place =
                                 std::get<1>(info.param) == "/dev/shm" ? "memory" : "disk";
                             return std::string(std::get<0>(info.param).name) + "_" + place;
                         });

}  // namespace

}  // namespace unisono
