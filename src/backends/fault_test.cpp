#include "backends/fault.hpp"

#include <cerrno>
#include <chrono>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"

namespace unisono {

namespace {

TEST(FaultBackend, is_none_where_the_specification_is_invalid) {
    EXPECT_EQ(make_fault_backend(make_posix_backend(0), "write"), nullptr);
}

class FaultTest : public testing::Test {
protected:
    std::unique_ptr<Backend> with(std::string_view faults) {
        return make_fault_backend(make_posix_backend(file.fd()), faults);
    }

    TemporaryFile file{test_folders().front()};
    std::vector<std::byte> memory = pattern(300, 1);
    // [100, 200) and [300, 500)
    std::vector<Transfer> list{{100, &memory[0], 100}, {300, &memory[100], 200}};
};

TEST_F(FaultTest, bytes_before_the_fault_are_transferred_and_none_after) {
    auto const backend = with("write@350=EIO,write@499=ENOSPC,write@250=EROFS,read@100=EPERM");
    for (int repetition = 0; repetition < 2; ++repetition) {
        auto const result = backend->perform(Direction::write, list);
        EXPECT_EQ(result.error.code, EIO);
        EXPECT_EQ(result.error.offset, 350u);
        EXPECT_EQ(result.stopped_at, 350u);
        EXPECT_EQ(result.bytes, 150u);
        EXPECT_EQ(file.size(), 350u);
    }
    auto const read = backend->perform(Direction::read, list);
    EXPECT_EQ(read.error.code, EPERM);
    EXPECT_EQ(read.bytes, 0u);
}

TEST_F(FaultTest, access_that_touches_no_fault_succeeds) {
    auto const backend = with("write@99=EIO,write@200=EIO,write@299=EIO,write@500=EIO");
    auto const result = backend->start(Direction::write, list)->wait();
    EXPECT_EQ(result.bytes, 300u);
    EXPECT_EQ(result.stopped_at, IoResult::nowhere);
    EXPECT_FALSE(result.error);
}

TEST_F(FaultTest, end_of_the_file_comes_before_a_later_fault) {
    file.fill(pattern(150, 2));
    auto const result = with("read@350=EIO")->perform(Direction::read, list);
    EXPECT_EQ(result.bytes, 50u);
    EXPECT_EQ(result.stopped_at, 150u);
    EXPECT_FALSE(result.error);
}

TEST_F(FaultTest, delay_comes_before_the_access) {
    auto const begin = std::chrono::steady_clock::now();
    EXPECT_EQ(with("write=delay:20000")->perform(Direction::write, list).bytes, 300u);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

TEST_F(FaultTest, syncs_and_closes_fail_on_their_own) {
    auto const backend = with("sync=EIO,close=EDQUOT");
    EXPECT_FALSE(backend->perform(Direction::write, list).error);
    EXPECT_EQ(backend->sync().code, EIO);
    EXPECT_EQ(backend->close().code, EDQUOT);
    EXPECT_FALSE(with("write@0=EIO")->sync());
    EXPECT_FALSE(with("write@0=EIO")->close());
}

// Counts what reaches the system.
class AccessCounter final : public Backend {
public:
    AccessCounter(std::unique_ptr<Backend> inner, unsigned& accesses)
        : inner_(std::move(inner)), accesses_(accesses) {}
    [[nodiscard]] std::string_view name() const override { return "counter"; }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        ++accesses_;
        return inner_->perform(direction, list);
    }
    Error sync() override { return inner_->sync(); }

private:
    std::unique_ptr<Backend> inner_;
    unsigned& accesses_;
};

TEST_F(FaultTest, short_transfers_split_the_access_and_do_not_show) {
    unsigned accesses = 0;
    auto const backend = make_fault_backend(
        std::make_unique<AccessCounter>(make_posix_backend(file.fd()), accesses), "write=short");
    constexpr unsigned repetitions = 20;
    for (unsigned i = 0; i < repetitions; ++i) {
        auto const result = backend->perform(Direction::write, list);
        EXPECT_EQ(result.bytes, 300u);
        EXPECT_EQ(result.stopped_at, IoResult::nowhere);
    }
    EXPECT_GT(accesses, repetitions);
    EXPECT_EQ(file.size(), 500u);
}

}  // namespace

}  // namespace unisono
