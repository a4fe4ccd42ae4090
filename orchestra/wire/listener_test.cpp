#include "orchestra/wire/listener.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "orchestra/wire/test_support.hpp"

namespace unisono::orchestra::wire {
namespace {

using namespace std::chrono_literals;

bool has(std::string const& text, std::string const& part) {
    return text.find(part) != std::string::npos;
}

// ---- both kinds of connections
// -------------------------------------------------------------------

struct Kind {
    char const* name;
    bool tcp;
};

class Connections : public testing::TestWithParam<Kind> {
protected:
    OwnFolder folder_;
    std::string key_ = GetParam().tcp ? folder_.key() : "";
    Address address_ = GetParam().tcp ? parse_address("tcp:127.0.0.1:0") : folder_.socket();
    Listener listener_{address_, key_};
};

// An orchestrator says that it is over, and is gone: a node daemon that had just then something to
// tell looked for it for half a minute.
TEST_P(Connections, bring_what_the_peer_said_last_to_who_can_no_longer_answer) {
    auto pair = meet(listener_, key_);
    ASSERT_TRUE(pair.server);
    ASSERT_TRUE(pair.server->send("over"));
    pair.server.reset();
    auto const deadline = std::chrono::steady_clock::now() + patience;
    while (pair.client->send("news") && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(1ms);
    bool open = true;
    EXPECT_EQ(pair.client->receive(open), std::vector<std::string>{"over"});
    EXPECT_FALSE(open);
}

TEST_P(Connections, carry_messages_both_ways_in_order) {
    auto const pair = meet(listener_, key_);
    ASSERT_TRUE(pair.server);
    EXPECT_NE(pair.server->peer(), "");
    std::string const large(message_bytes_max, 'x');
    auto const send_all = [&](Connection& from) {
        return from.send("one") && from.send("") && from.send(large) && from.send("last");
    };
    for (auto const& [from, to] : {std::pair{pair.client.get(), pair.server.get()},
                                   std::pair{pair.server.get(), pair.client.get()}}) {
        ASSERT_TRUE(send_all(*from));
        std::vector<std::string> got;
        bool open = true;
        auto const deadline = std::chrono::steady_clock::now() + patience;
        while (open && got.size() < 4 && std::chrono::steady_clock::now() < deadline) {
            ASSERT_TRUE(from->flush());
            for (auto& message : to->receive(open)) got.push_back(std::move(message));
        }
        EXPECT_EQ(got, (std::vector<std::string>{"one", "", large, "last"}));
        EXPECT_FALSE(from->want_write());
    }
}

TEST_P(Connections, tell_when_the_peer_has_gone_after_its_last_words) {
    auto pair = meet(listener_, key_);
    ASSERT_TRUE(pair.server->send("goodbye"));
    pair.server.reset();
    bool open = true;
    EXPECT_EQ(await(*pair.client, open), std::vector<std::string>{"goodbye"});
    if (open) {
        EXPECT_TRUE(await(*pair.client, open).empty());
    }
    EXPECT_FALSE(open);
    EXPECT_FALSE(pair.client->send("anyone?"));
}

TEST_P(Connections, give_up_a_peer_that_does_not_read) {
    auto const pair = meet(listener_, key_);
    std::string const large(message_bytes_max / 2, 'x');
    int sent = 0;
    while (sent < 100 && pair.server->send(large)) ++sent;
    EXPECT_GT(sent, 4) << "what fits is queued";
    EXPECT_LT(sent, 40) << "and that is bounded";
    EXPECT_FALSE(pair.server->send("small"));
    bool open = true;
    pair.server->receive(open);
    EXPECT_FALSE(open);
}

TEST_P(Connections, refuse_to_send_what_the_other_side_would_refuse) {
    auto const pair = meet(listener_, key_);
    EXPECT_FALSE(pair.client->send(std::string(message_bytes_max + 1, 'x')));
}

// Garbage, as it is: where there is TLS, it is no record of it.
TEST_P(Connections, end_at_the_first_message_that_breaks_the_rules) {
    for (auto const& bytes :
         {std::string(64, '\xff'), frame(std::string(message_bytes_max + 100, 'x')).substr(0, 5),
          frame("a message that nobody sealed").substr(0, GetParam().tcp ? 99 : 0)}) {
        auto const pair = meet(listener_, key_);
        if (bytes.empty()) continue;
        ASSERT_EQ(send(pair.client->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
        bool open = true;
        EXPECT_TRUE(await(*pair.server, open).empty());
        EXPECT_FALSE(open);
    }
}

TEST_P(Connections, are_bounded_and_one_that_goes_makes_room) {
    Listener small(GetParam().tcp ? address_ : parse_address("unix:" + folder_ / "small"), key_,
                   {.connections_max = 2});
    auto first = meet(small, key_);
    auto const second = meet(small, key_);
    EXPECT_TRUE(has(problem_of([&] { meet(small, key_); }), "too many"));
    EXPECT_TRUE(has(small.last_refusal(), "too many connections")) << small.last_refusal();
    first.server.reset();
    EXPECT_TRUE(meet(small, key_).server);
}

INSTANTIATE_TEST_SUITE_P(Wire, Connections,
                         testing::Values(Kind{"local", false}, Kind{"tcp", true}),
                         [](auto const& info) { return std::string(info.param.name); });

// ---- local sockets
// -------------------------------------------------------------------------------

TEST(LocalSockets, are_the_owners_alone) {
    OwnFolder const folder;
    auto const address = parse_address("unix:" + folder / "made/socket");
    {
        Listener const listener(address, {});
        struct stat facts {};
        ASSERT_EQ(stat((folder / "made").c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0700U);
        ASSERT_EQ(stat(address.path.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0600U);
    }
    EXPECT_FALSE(std::filesystem::exists(address.path)) << "gone with its listener";
}

TEST(LocalSockets, are_not_made_where_others_may_enter) {
    OwnFolder const folder;
    std::filesystem::permissions(folder / ".", std::filesystem::perms(0755));
    EXPECT_TRUE(has(problem_of([&] { Listener(folder.socket(), {}); }), "chmod 700"));
}

TEST(LocalSockets, have_one_listener_and_a_dead_ones_is_replaced) {
    OwnFolder const folder;
    // The child dies without having cleaned up anything.
    pid_t const child = fork();
    if (child == 0) {
        Listener const listener(folder.socket(), {});
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(std::filesystem::exists(folder.socket().path));
    EXPECT_TRUE(has(problem_of([&] { connect(folder.socket(), {}); }), "Connection refused"));
    Listener listener(folder.socket(), {});
    EXPECT_TRUE(has(problem_of([&] { Listener(folder.socket(), {}); }), "somebody listens"));
    EXPECT_TRUE(meet(listener).server);
}

// Its end took the next one's socket away, and no node daemon could connect any more.
TEST(LocalSockets, whose_folder_was_taken_away_are_left_to_the_next_one) {
    OwnFolder const folder;
    auto const address = parse_address("unix:" + folder / "made/socket");
    auto first = std::make_unique<Listener>(address, "");
    std::filesystem::remove_all(folder / "made");
    Listener second_one(address, "");
    first.reset();
    EXPECT_TRUE(meet(second_one).server);
}

TEST(LocalSockets, do_not_replace_what_is_something_else) {
    OwnFolder const folder;
    std::ofstream(folder.socket().path) << "precious";
    EXPECT_TRUE(has(problem_of([&] { Listener(folder.socket(), {}); }), "something else"));
    EXPECT_TRUE(std::filesystem::exists(folder.socket().path));
}

// Even if somebody opened the folder and the socket to all.
TEST(LocalSockets, let_in_no_other_user) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    OwnFolder const folder;
    Listener listener(folder.socket(), {});
    std::filesystem::permissions(folder / ".", std::filesystem::perms(0755));
    std::filesystem::permissions(folder.socket().path, std::filesystem::perms(0666));
    pid_t const child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
        auto const problem = problem_of([&] {
            auto const address = local_address(folder.socket().path);
            auto const socket = local_socket();
            if (connect(socket.get(), reinterpret_cast<sockaddr const*>(&address),
                        sizeof address) != 0)
                _exit(3);
            pollfd one{socket.get(), POLLIN, 0};
            poll(&one, 1, 10'000);
            char byte = 0;
            if (recv(socket.get(), &byte, 1, 0) != 0) _exit(4);
        });
        _exit(problem.empty() ? 0 : 5);
    }
    EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
        EXPECT_FALSE(connection);
        return !listener.last_refusal().empty();
    }));
    EXPECT_TRUE(has(listener.last_refusal(), "it is of user 65534")) << listener.last_refusal();
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LocalSockets, of_others_are_not_talked_to) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    OwnFolder const folder;
    std::filesystem::permissions(folder / ".", std::filesystem::perms(0777));
    auto const address = folder.socket();
    pid_t const child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
        auto const socket = local_socket();
        auto const where = local_address(address.path);
        bind(socket.get(), reinterpret_cast<sockaddr const*>(&where), sizeof where);
        listen(socket.get(), 1);
        std::this_thread::sleep_for(60s);
        _exit(0);
    }
    for (int tries = 0; tries < 1000 && !std::filesystem::exists(address.path); ++tries)
        std::this_thread::sleep_for(10ms);
    std::string problem = "Connection refused";
    for (int tries = 0; tries < 1000 && has(problem, "Connection refused"); ++tries)
        problem = problem_of([&] { connect(address, {}, 1s); });
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(has(problem, "it is of user 65534")) << problem;
}

// ---- TCP
// -----------------------------------------------------------------------------------------

class Tcp : public testing::Test {
protected:
    static bool is_closed(Descriptor const& socket) {
        bool closed = false;
        take_all(socket, closed);
        return closed;
    }

    // Until the listener has refused somebody; what it said.
    std::string refusal() {
        serve(listener_, [&](std::unique_ptr<Connection> connection) {
            EXPECT_FALSE(connection);
            return !listener_.last_refusal().empty();
        });
        return listener_.last_refusal();
    }

    OwnFolder folder_;
    std::string key_ = folder_.key();
    Listener listener_{
        parse_address("tcp:127.0.0.1:0"), key_, {.handshakes_max = 4, .handshake = 3s}};
};

TEST_F(Tcp, listens_where_it_was_told_and_nowhere_else) {
    sockaddr_storage bound{};
    EXPECT_NE(listener_.address().port, "0");
    auto const found = look_up(listener_.address(), 0);
    std::memcpy(&bound, found->ai_addr, found->ai_addrlen);
    EXPECT_EQ(show(bound), "127.0.0.1:" + listener_.address().port);
    EXPECT_TRUE(has(problem_of([&] { Listener(listener_.address(), key_); }), "in use"));
    // Another address of this machine.
    auto elsewhere = listener_.address();
    elsewhere.host = "127.0.0.2";
    EXPECT_TRUE(has(problem_of([&] { connect(elsewhere, key_); }), "refused"));
}

TEST_F(Tcp, needs_a_key) {
    EXPECT_TRUE(has(problem_of([&] { Listener(parse_address("tcp:127.0.0.1:0"), ""); }),
                    "TCP needs a key file"));
    EXPECT_TRUE(has(problem_of([&] { connect(listener_.address(), ""); }), "TCP needs a key file"));
    EXPECT_TRUE(
        has(problem_of([&] { Listener(parse_address("tcp:127.0.0.1:0"), folder_ / "missing"); }),
            "No such file"));
}

TEST_F(Tcp, another_key_is_refused_with_a_clear_text_on_both_sides) {
    auto const problem = problem_of([&] { meet(listener_, folder_.key('b')); });
    EXPECT_TRUE(has(problem, "it has another key")) << problem;
    EXPECT_TRUE(has(problem, show(listener_.address()))) << problem;
    EXPECT_TRUE(has(listener_.last_refusal(), "it has another key")) << listener_.last_refusal();
    EXPECT_TRUE(has(listener_.last_refusal(), "127.0.0.1:")) << listener_.last_refusal();
}

TEST_F(Tcp, who_says_nothing_is_dropped_and_keeps_nobody_out) {
    auto const silent = dial(listener_);
    EXPECT_TRUE(meet(listener_, key_).server) << "others come in meanwhile";
    EXPECT_TRUE(has(refusal(), "it took too long"));
    EXPECT_TRUE(is_closed(silent));
}

TEST_F(Tcp, who_sends_a_byte_now_and_then_is_dropped_as_well) {
    auto const slow = dial(listener_);
    auto const hello = first_words(read_key(key_));
    std::size_t sent = 0;
    EXPECT_TRUE(serve(listener_, [&](std::unique_ptr<Connection> connection) {
        EXPECT_FALSE(connection);
        if (sent < 20) send(slow.get(), &hello[sent++], 1, MSG_NOSIGNAL);
        return !listener_.last_refusal().empty();
    }));
    EXPECT_TRUE(has(listener_.last_refusal(), "it took too long")) << listener_.last_refusal();
}

TEST_F(Tcp, a_crowd_of_silent_ones_does_not_keep_others_out) {
    std::vector<Descriptor> crowd;
    for (int i = 0; i < 20; ++i) crowd.push_back(dial(listener_));
    EXPECT_TRUE(meet(listener_, key_).server);
    EXPECT_TRUE(has(listener_.last_refusal(), "too many others")) << listener_.last_refusal();
}

TEST_F(Tcp, garbage_is_refused) {
    for (auto const& bytes :
         {std::string("GET / HTTP/1.1\r\n\r\n"), frame("short"), std::string(64, '\0')}) {
        Listener listener(parse_address("tcp:127.0.0.1:0"), key_);
        auto const socket = dial(listener);
        put(socket, bytes);
        EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
            EXPECT_FALSE(connection);
            return !listener.last_refusal().empty();
        }));
        EXPECT_TRUE(has(listener.last_refusal(), "does not speak")) << listener.last_refusal();
    }
}

// It has a while, in which another host connects as often as it can, and holds on to all of it.
TEST_F(Tcp, one_client_that_keeps_connecting_keeps_nobody_out) {
    Listener listener(parse_address("tcp:127.0.0.1:0"), key_,
                      {.handshakes_max = 32, .handshake = patience});
    auto const member = meet(listener, key_);
    auto const slow = dial(listener);
    std::vector<Descriptor> crowd;
    for (int i = 0; i < 300; ++i) {
        crowd.push_back(dial(listener, "127.0.0.2"));
        EXPECT_FALSE(listener.accept());
    }
    EXPECT_TRUE(has(listener.last_refusal(), "too many others")) << listener.last_refusal();
    EXPECT_GT(std::ranges::count_if(crowd, is_closed), 200);
    Tls tls(Tls::Side::client, read_key(key_), slow.get());
    bool proved = false;
    EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
        proved = proved || tls.shake_hands();
        return connection != nullptr;
    })) << listener.last_refusal();
    EXPECT_TRUE(proved);
    ASSERT_TRUE(member.client->send("I am still here"));
    bool open = true;
    EXPECT_EQ(await(*member.server, open), std::vector<std::string>{"I am still here"});
}

// What a client sends is recorded, and played back to the server later.
TEST_F(Tcp, a_recorded_connection_lets_nobody_in) {
    auto const line = make_line();
    Tls client(Tls::Side::client, read_key(key_), line[0].get());
    auto const genuine = dial(listener_);
    std::string record;
    bool proved = false;
    EXPECT_TRUE(serve(listener_, [&](std::unique_ptr<Connection> connection) {
        proved = proved || client.shake_hands();
        auto const said = take_all(line[1]);
        record += said;
        put(genuine, said);
        put(line[1], take_all(genuine));
        return connection != nullptr;
    })) << "the genuine one";
    auto const replay = dial(listener_);
    put(replay, record);
    EXPECT_NE(refusal(), "");
}

// The first address did not answer, as in a network that is not reached from here, and had used up
// all the time.
TEST_F(Tcp, a_host_is_reached_by_whichever_of_its_addresses_answers) {
    std::ofstream(folder_ / "hosts") << "127.0.0.1 twofold\n127.0.0.2 twofold\n";
    std::optional<Listener> listener;
    Address address;
    Descriptor full;
    auto const has_the_same_port_on_both = [&] {
        listener.emplace(parse_address("tcp:127.0.0.2:0"), key_);
        address = listener->address();
        address.host = "127.0.0.1";
        full = tcp_socket(AF_INET);
        auto const silent = look_up(address, 0);
        return bind(full.get(), silent->ai_addr, silent->ai_addrlen) == 0;
    };
    int tries = 1;  // where the other one's may be in use
    while (tries < 20 && !has_the_same_port_on_both()) ++tries;
    ASSERT_LT(tries, 20);
    auto const silent = look_up(address, 0);
    ASSERT_EQ(listen(full.get(), 0), 0);
    std::vector<Descriptor> queue;
    for (int i = 0; i < 3; ++i) {
        queue.push_back(tcp_socket(AF_INET));
        ::connect(queue.back().get(), silent->ai_addr, silent->ai_addrlen);
    }
    address.host = "twofold";
    pid_t const child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount((folder_ / "hosts").c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
            _exit(77);
        _exit(problem_of([&] { connect(address, key_); }).empty() ? 0 : 1);
    }
    int status = 0;
    std::unique_ptr<Connection> met;
    EXPECT_TRUE(serve(*listener, [&](std::unique_ptr<Connection> connection) {
        if (connection) met = std::move(connection);
        return waitpid(child, &status, WNOHANG) == child;
    }));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no mounts for this user";
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(met);
}

TEST_F(Tcp, a_connection_to_nobody_ends_within_its_limit) {
    Listener const silent(parse_address("tcp:127.0.0.1:0"), key_);  // nobody calls accept()
    auto const begin = std::chrono::steady_clock::now();
    auto const problem = problem_of([&] { connect(silent.address(), key_, 200ms); });
    EXPECT_TRUE(has(problem, "it does not answer")) << problem;
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
}

}  // namespace
}  // namespace unisono::orchestra::wire
