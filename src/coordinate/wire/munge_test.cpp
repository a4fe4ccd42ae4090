// With a MUNGE daemon of the test's own, with a key of its own.
#include "coordinate/wire/munge.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <thread>

#include "coordinate/wire/sockets.hpp"
#include "coordinate/wire/test_support.hpp"

namespace unisono::coordinate::wire {
namespace {

constexpr char const* munged = "/usr/sbin/munged";

class Munge : public testing::Test {
protected:
    void SetUp() override {
        if (access(munged, X_OK) != 0) GTEST_SKIP() << "no MUNGE here (Debian: munge)";
        // Its sockets are for everyone, and it insists on safe folders.
        std::filesystem::permissions(folder_ / ".", std::filesystem::perms(0711));
        std::ofstream(folder_ / "munge.key") << std::string(128, 'k');
        std::filesystem::permissions(folder_ / "munge.key", std::filesystem::perms(0600));
        daemon_ = fork();
        if (daemon_ == 0) {
            auto const option = [&](char const* name, char const* file) {
                return std::string("--") + name + "=" + folder_ / file;
            };
            auto const socket = option("socket", "munge.socket");
            auto const key = option("key-file", "munge.key");
            auto const log = option("log-file", "log");
            auto const pid = option("pid-file", "pid");
            auto const seed = option("seed-file", "seed");
            std::freopen((folder_ / "output").c_str(), "w", stderr);
            // --force: whatever folder tests use for temporary files.
            execl(munged, munged, "--foreground", "--force", socket.c_str(), key.c_str(),
                  log.c_str(), pid.c_str(), seed.c_str(), nullptr);
            _exit(1);
        }
        std::string problem = "not asked";
        for (int tries = 0; tries < 200 && !problem.empty(); ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (std::filesystem::exists(auth_.munge_socket))
                problem = problem_of([&] { make_prover(auth_); });
        }
        ASSERT_EQ(problem, "") << std::ifstream(folder_ / "output").rdbuf();
    }

    void TearDown() override {
        if (daemon_ <= 0) return;
        kill(daemon_, SIGTERM);
        waitpid(daemon_, nullptr, 0);
    }

    OwnFolder folder_;
    Auth auth_{.munge_socket = folder_ / "munge.socket"};
    pid_t daemon_ = 0;
};

TEST_F(Munge, lets_in_the_same_user) {
    Listener listener(parse_address("tcp:127.0.0.1:0"), auth_);
    auto const pair = meet(listener, auth_);
    ASSERT_TRUE(pair.server) << listener.last_refusal();
    EXPECT_EQ(pair.server->peer().uid, geteuid());
    ASSERT_TRUE(pair.client->send("hello"));
    bool open = true;
    EXPECT_EQ(await(*pair.server, open), std::vector<std::string>{"hello"});
}

TEST_F(Munge, a_credential_is_taken_once_and_for_what_it_says) {
    auto const prover = make_prover(auth_);
    auto const credential = prover->prove("statement");
    EXPECT_EQ(prover->check(credential, "statement"), geteuid());
    EXPECT_NE(problem_of([&] { prover->check(credential, "statement"); }).find("MUNGE"),
              std::string::npos)
        << "replayed";
    EXPECT_NE(problem_of([&] {
                  prover->check(prover->prove("other"), "statement");
              }).find("something else"),
              std::string::npos);
    EXPECT_NE(problem_of([&] { prover->check("MUNGE:garbage:", "statement"); }), "");
    EXPECT_NE(problem_of([&] { prover->check("", "statement"); }), "");
}

TEST_F(Munge, does_not_speak_with_who_has_a_key_file) {
    Listener listener(parse_address("tcp:127.0.0.1:0"), auth_);
    EXPECT_NE(problem_of([&] { meet(listener, {.key_file = folder_.key()}); }), "");
    EXPECT_NE(listener.last_refusal().find("one side has a key file"), std::string::npos);
}

// Another user's credential is genuine, and not enough.
TEST_F(Munge, lets_in_no_other_user) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    pid_t const child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
        auto const credential = make_prover(auth_)->prove("statement");
        _exit(write(ends[1], credential.data(), credential.size()) > 0 ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    std::string credential(4096, '\0');
    credential.resize(static_cast<std::size_t>(read(ends[0], credential.data(), 4096)));
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(problem_of([&] { make_prover(auth_)->check(credential, "statement"); }),
              "it is user 65534");
}

// If accept() asked it itself, it would come back with libmunge's own time limit as a refusal.
TEST_F(Munge, a_daemon_that_hangs_does_not_stop_the_listener) {
    Listener listener(parse_address("tcp:127.0.0.1:0"), auth_);
    Handshake client(Handshake::Role::client, make_prover(auth_));
    auto const found = look_up(listener.address(), 0);
    auto const socket = tcp_socket(found->ai_family);
    connect(socket.get(), found->ai_addr, found->ai_addrlen);
    pollfd one{socket.get(), POLLOUT, 0};
    poll(&one, 1, 10'000);
    auto const hello = frame(client.begin());
    kill(daemon_, SIGSTOP);
    EXPECT_EQ(send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(hello.size()));
    for (int calls = 0; calls < 20; ++calls) {
        EXPECT_FALSE(listener.accept());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(listener.last_refusal(), "");
    kill(daemon_, SIGCONT);
    std::string answer(4096, '\0');
    EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection>) {
        return recv(socket.get(), answer.data(), answer.size(), 0) > 0;
    })) << listener.last_refusal();
}

}  // namespace
}  // namespace unisono::coordinate::wire
