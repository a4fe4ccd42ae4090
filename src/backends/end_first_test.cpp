#include "backends/end_first.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"

namespace unisono {
namespace {

constexpr std::uint64_t page = 4096;

/// Notes what is written, and fails from an offset on.
class Noted final : public Backend {
public:
    Noted(std::unique_ptr<Backend> inner, std::vector<Extent>& log, std::uint64_t const& fails_at)
        : inner_{std::move(inner)}, log_{log}, fails_at_{fails_at} {}
    [[nodiscard]] std::string_view name() const override { return inner_->name(); }
    Error sync() override { return inner_->sync(); }
    IoResult perform(Direction direction, std::span<Transfer const> list) override {
        IoResult result;
        for (auto const& one : list) {
            log_.push_back({one.offset, one.offset + one.bytes});
            if (one.offset + one.bytes > fails_at_)
                return {result.bytes, one.offset, {EIO, "pwrite", one.offset}};
            result.add(inner_->perform(direction, {&one, 1}));
        }
        return result;
    }

private:
    std::unique_ptr<Backend> inner_;
    std::vector<Extent>& log_;
    std::uint64_t const& fails_at_;
};

class EndFirst : public testing::Test {
protected:
    std::unique_ptr<Backend> make() {
        return make_end_first_backend(
            file.fd(), std::make_unique<Noted>(make_posix_backend(file.fd()), log, fails_at));
    }
    // So many bytes of the data at their offset in the file.
    [[nodiscard]] Transfer at(std::uint64_t offset, std::uint64_t bytes) {
        return {offset, data.data() + offset, bytes};
    }

    TemporaryFile file{test_folders().front()};
    std::vector<std::byte> data = pattern(100 * page, 1);
    std::vector<Extent> log;
    std::uint64_t fails_at = UINT64_MAX;
    std::unique_ptr<Backend> backend = make();
};

TEST_F(EndFirst, the_last_page_of_a_list_that_makes_the_file_longer_goes_first) {
    std::array const list{at(0, 10 * page), at(20 * page, 10 * page + 100)};
    auto const result = backend->perform(Direction::write, list);
    EXPECT_EQ(result.bytes, 20 * page + 100);
    EXPECT_EQ(result.stopped_at, IoResult::nowhere);
    std::vector<Extent> const expected{
        {30 * page, 30 * page + 100}, {0, 10 * page}, {20 * page, 30 * page}};
    EXPECT_EQ(log, expected);
    auto contents = data;
    contents.resize(30 * page + 100);
    std::fill(contents.begin() + 10 * page, contents.begin() + 20 * page, std::byte{});
    EXPECT_EQ(file.contents(), contents);
}

TEST_F(EndFirst, so_it_does_in_the_background) {
    std::array const list{at(0, 20 * page), at(20 * page, 7)};
    auto const under_way = backend->start(Direction::write, list, Order::ascending);
    EXPECT_EQ(under_way->wait().bytes, 20 * page + 7);
    std::vector<Extent> const expected{{20 * page, 20 * page + 7}, {0, 20 * page}};
    EXPECT_EQ(log, expected);
    data.resize(20 * page + 7);
    EXPECT_EQ(file.contents(), data);
}

TEST_F(EndFirst, what_is_short_or_overwrites_goes_as_it_came) {
    std::array const brief{at(0, page), at(2 * page, page)};
    backend->perform(Direction::write, brief);
    EXPECT_EQ(log.size(), 2u);
    file.fill(data);
    log.clear();
    std::array const whole{at(0, 100 * page)};
    make()->perform(Direction::write, whole);
    backend->perform(Direction::read, whole);
    EXPECT_EQ(log.size(), 2u) << "a write and a read";
}

TEST_F(EndFirst, what_was_made_longer_is_so_for_the_next_list) {
    std::array const upper{at(50 * page, 50 * page)}, lower{at(0, 50 * page)};
    backend->perform(Direction::write, upper);
    EXPECT_EQ(log.size(), 2u);
    backend->perform(Direction::write, lower);
    EXPECT_EQ(log.size(), 3u);
}

TEST_F(EndFirst, where_the_page_cannot_be_written_the_list_fails_as_ever) {
    fails_at = 60 * page;
    std::array const list{at(0, 50 * page), at(50 * page, 50 * page)};
    auto const result = backend->perform(Direction::write, list);
    EXPECT_EQ(result.bytes, 50 * page);
    EXPECT_EQ(result.stopped_at, 50 * page);
    EXPECT_EQ(result.error.code, EIO);
    EXPECT_EQ(file.size(), 50 * page);
}

}  // namespace
}  // namespace unisono
