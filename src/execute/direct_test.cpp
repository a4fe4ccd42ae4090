#include "execute/direct.hpp"

#include "execute/collective_cases.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t data_bytes = (2 << 20) + 1000;
constexpr std::uint64_t last_part_bytes = 1000;
constexpr std::int64_t begin = 512;  // in the file

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

}  // namespace
}  // namespace unisono
