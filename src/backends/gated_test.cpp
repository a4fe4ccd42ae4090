#include "backends/gated.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"

namespace unisono {
namespace {

using Log = std::vector<std::string>;

/// Lets everybody in, and writes down who comes and goes.
class OpenGate final : public AdmissionGate {
public:
    Pass enter(std::span<Transfer const> list) override {
        log.push_back("in at " + std::to_string(list.front().offset));
        return std::make_unique<Noted>(log);
    }
    Pass enter_somewhere(std::uint64_t /*bytes*/) override { return nullptr; }
    [[nodiscard]] std::uint64_t waits() const override { return 0; }

    Log log;

private:
    class Noted final : public Access {
    public:
        explicit Noted(Log& log) : log_(log) {}
        ~Noted() override { log_.emplace_back("out"); }
        void waited_for(bool now) override { log_.emplace_back(now ? "waited for" : "left alone"); }

    private:
        Log& log_;
    };
};

/// Of which nobody knows where its accesses end.
class NoGate final : public AdmissionGate {
public:
    Pass enter(std::span<Transfer const> /*list*/) override { return nullptr; }
    Pass enter_somewhere(std::uint64_t /*bytes*/) override { return nullptr; }
    [[nodiscard]] std::uint64_t waits() const override { return 0; }
};

class GatedBackend : public ::testing::Test {
protected:
    std::unique_ptr<Backend> behind(std::shared_ptr<AdmissionGate> at) {
        return make_gated_backend(make_posix_backend(file.fd()), std::move(at));
    }

    TemporaryFile file{test_folders().front()};
    std::shared_ptr<OpenGate> gate = std::make_shared<OpenGate>();
    std::unique_ptr<Backend> backend = behind(gate);
    std::array<std::byte, 8> data{std::byte{7}};
};

TEST_F(GatedBackend, an_access_passes_the_gate_and_ends_there) {
    std::vector<Transfer> const list{{4, data.data(), 4}, {100, data.data() + 4, 4}};
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, 8U);
    EXPECT_EQ(file.size(), 104U);
    EXPECT_EQ(gate->log, (Log{"in at 4", "out"}));
    EXPECT_EQ(backend->name(), "posix");
}

TEST_F(GatedBackend, one_that_was_started_ends_when_it_was_waited_for) {
    std::vector<Transfer> const list{{0, data.data(), 8}};
    auto io = backend->start(Direction::write, list);
    EXPECT_EQ(gate->log, (Log{"in at 0", "left alone"}));
    EXPECT_EQ(io->wait().bytes, 8U);
    EXPECT_EQ(gate->log, (Log{"in at 0", "left alone", "waited for", "out"}));
    io.reset();
    EXPECT_EQ(gate->log.size(), 4U);
}

TEST_F(GatedBackend, where_nobody_wants_to_hear_of_it_the_same_bytes_move) {
    auto const ungated = behind(std::make_shared<NoGate>());
    std::vector<Transfer> const list{{0, data.data(), 8}};
    EXPECT_EQ(ungated->perform(Direction::write, list).bytes, 8U);
    std::array<std::byte, 8> back{};
    std::vector<Transfer> const there{{0, back.data(), 8}};
    EXPECT_EQ(ungated->start(Direction::read, there)->wait().bytes, 8U);
    EXPECT_EQ(back, data);
}

}  // namespace
}  // namespace unisono
