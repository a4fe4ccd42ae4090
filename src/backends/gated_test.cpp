#include "backends/gated.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "backends/posix.hpp"
#include "coordinate/gate/page.hpp"

namespace unisono {
namespace {

namespace fs = std::filesystem;
using coordinate::SeatEvent;

class GatedBackend : public ::testing::Test {
protected:
    GatedBackend() {
        std::string name = fs::temp_directory_path() / "unisono-gated-test-XXXXXX";
        runtime = mkdtemp(name.data());
        struct stat status {};
        stat(runtime.c_str(), &status);
        folder = coordinate::gate_folder(status.st_dev, geteuid(), runtime);
        fs::create_directory(folder);
        page.emplace(folder, 1e9);
        file = open((runtime + "/file").c_str(), O_RDWR | O_CREAT, 0600);
        gate = std::make_shared<coordinate::FileGate>(coordinate::FileGate::Setup{
            .descriptor = file,
            .progress = [this] { page->tell({}); },  // who waits is let in
            .program = [] { return std::string("a"); },
            .runtime = runtime});
        backend = make_gated_backend(make_posix_backend(file), gate);
        for (auto const& entry : fs::directory_iterator(folder))
            if (entry.path().filename() != "page")
                seat = coordinate::SeatReader::open(entry.path());
    }
    ~GatedBackend() override {
        backend.reset();
        close(file);
        fs::remove_all(runtime);
    }
    std::vector<SeatEvent::Kind> said() {
        std::vector<SeatEvent> events;
        EXPECT_TRUE(seat->take(events));
        std::vector<SeatEvent::Kind> kinds;
        for (auto const& event : events) kinds.push_back(event.kind);
        return kinds;
    }

    std::string runtime;
    std::string folder;
    std::optional<coordinate::Page> page;
    int file = -1;
    std::shared_ptr<coordinate::FileGate> gate;
    std::unique_ptr<Backend> backend;
    std::unique_ptr<coordinate::SeatReader> seat;
    std::array<std::byte, 8> data{std::byte{7}};
};

using Kinds = std::vector<SeatEvent::Kind>;
constexpr auto entered = SeatEvent::Kind::entered;
constexpr auto held = SeatEvent::Kind::held;
constexpr auto released = SeatEvent::Kind::released;
constexpr auto finished = SeatEvent::Kind::finished;

TEST_F(GatedBackend, an_access_is_announced_and_ends) {
    ASSERT_NE(seat, nullptr);
    std::vector<Transfer> const list{{0, data.data(), 4}, {100, data.data() + 4, 4}};
    auto const result = backend->perform(Direction::write, list);
    EXPECT_EQ(result.bytes, 8U);
    EXPECT_EQ(fs::file_size(runtime + "/file"), 104U);
    EXPECT_EQ(said(), (Kinds{entered, finished}));
    EXPECT_EQ(backend->name(), "posix");
}

TEST_F(GatedBackend, one_that_was_started_ends_when_it_was_waited_for) {
    std::vector<Transfer> const list{{0, data.data(), 8}};
    auto io = backend->start(Direction::write, list);
    EXPECT_EQ(said(), (Kinds{entered}));
    EXPECT_EQ(io->wait().bytes, 8U);
    EXPECT_EQ(said(), (Kinds{finished}));
    io.reset();
    EXPECT_EQ(said(), Kinds{});
}

TEST_F(GatedBackend, whose_turn_it_is_not_waits_and_moves_the_same_bytes) {
    page->tell({coordinate::Admission::Kind::only, {}, coordinate::never});
    std::vector<Transfer> const list{{0, data.data(), 8}};
    EXPECT_EQ(backend->perform(Direction::write, list).bytes, 8U);
    EXPECT_EQ(said(), (Kinds{held, released, finished}));
    EXPECT_EQ(gate->counts().waits, 1U);
    std::array<std::byte, 8> back{};
    std::vector<Transfer> const there{{0, back.data(), 8}};
    EXPECT_EQ(backend->perform(Direction::read, there).bytes, 8U);
    EXPECT_EQ(back, data);
}

}  // namespace
}  // namespace unisono
