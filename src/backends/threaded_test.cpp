#include "backends/threaded.hpp"

#include <sys/syscall.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>

#include "backends/posix.hpp"
#include "backends/test_support.hpp"

namespace unisono {

namespace {

/// Performs nothing; calls a function meanwhile.
class Calling final : public Backend {
public:
    explicit Calling(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
    [[nodiscard]] std::string_view name() const override { return "calling"; }
    IoResult perform(Direction /*direction*/, std::span<Transfer const> /*list*/) override {
        meanwhile_();
        return {};
    }
    Error sync() override { return {}; }

private:
    std::function<void()> meanwhile_;
};

TEST(Threaded, an_access_is_under_way_when_start_returns) {
    std::promise<void> go;
    auto const backend = make_threaded_backend(
        std::make_unique<Calling>([went = go.get_future().share()] { went.wait(); }));
    auto const access = backend->start(Direction::read, {});  // would never return
    go.set_value();
    access->wait();
    EXPECT_TRUE(backend->overlaps());
}

TEST(Threaded, an_access_that_nobody_waits_for_is_waited_for) {
    bool done = false;
    auto const backend = make_threaded_backend(std::make_unique<Calling>([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        done = true;
    }));
    backend->start(Direction::write, {});
    EXPECT_TRUE(done);
}

// Else its handler would run on a thread that the program does not know.
TEST(Threaded, signals_of_the_program_do_not_come_to_its_threads) {
    sigset_t blocked;
    auto const backend = make_threaded_backend(
        std::make_unique<Calling>([&] { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); }));
    backend->start(Direction::read, {})->wait();
    EXPECT_EQ(sigismember(&blocked, SIGALRM), 1);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    EXPECT_EQ(sigismember(&blocked, SIGBUS), 0);
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGALRM), 0) << "the caller's mask is as before";
}

bool written_without_threads() {
    TemporaryFile const file(test_folders().front());
    auto const backend = make_threaded_backend(make_posix_backend(file.fd()));
    auto memory = pattern(1000, 1);
    std::vector<Transfer> const list{{0, memory.data(), memory.size()}};
    forbid_system_call(SYS_clone3);
    forbid_system_call(SYS_clone);
    auto const result = backend->start(Direction::write, list)->wait();
    return result.bytes == memory.size() && file.contents() == memory;
}

TEST(ThreadedDeath, where_there_can_be_no_thread_start_performs_at_once) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::_Exit(written_without_threads() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace

}  // namespace unisono
