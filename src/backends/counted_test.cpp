#include "backends/counted.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"

namespace unisono {
namespace {

// Two pieces of memory that lie side by side in the file are one extent of it. A report had as many
// pieces in the file as there were in memory.
TEST(CountedBackend, counts_extents_of_the_file_and_bytes_that_were_moved) {
    TemporaryFile const file{test_folders().front()};
    auto counts = std::make_shared<BackendCounts>();
    auto const backend = make_counted_backend(make_posix_backend(file.fd()), counts);
    std::array<std::byte, 64> data{};
    std::array<Transfer, 3> const list{
        {{0, data.data(), 8}, {8, data.data() + 16, 8}, {100, data.data() + 32, 8}}};
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, 24u);
    auto const& written = (*counts)[Direction::write];
    EXPECT_EQ(written.lists, 1u);
    EXPECT_EQ(written.extents, 2u);
    EXPECT_EQ(written.bytes, 24u);

    std::array<Transfer, 1> const past_the_end{{{104, data.data(), 64}}};
    EXPECT_EQ(backend->start(Direction::read, past_the_end)->wait().bytes, 4u);
    auto const& read = (*counts)[Direction::read];
    EXPECT_EQ(read.lists, 1u);
    EXPECT_EQ(read.bytes, 4u);
}

// Says at each access how many are under way.
class Watching final : public Backend {
public:
    Watching(std::atomic<std::uint64_t> const& number, std::vector<std::uint64_t>& seen)
        : number_{number}, seen_{seen} {}
    [[nodiscard]] std::string_view name() const override { return "watching"; }
    IoResult perform(Direction, std::span<Transfer const>) override {
        seen_.push_back(number_);
        return {};
    }
    Error sync() override {
        seen_.push_back(number_);
        return {};
    }

private:
    std::atomic<std::uint64_t> const& number_;
    std::vector<std::uint64_t>& seen_;
};

TEST(CountedBackend, shows_that_a_call_is_under_way_and_how_many_have_ended) {
    constexpr auto ended = std::uint64_t{1} << 32;
    std::atomic<std::uint64_t> number = 0;
    std::vector<std::uint64_t> seen;
    auto counts = std::make_shared<BackendCounts>();
    counts->under_way = &number;
    auto const backend = make_counted_backend(std::make_unique<Watching>(number, seen), counts);
    backend->perform(Direction::write, {});
    backend->sync();
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, ended + 1}));
    EXPECT_EQ(number, 2 * ended);
}

}  // namespace
}  // namespace unisono
