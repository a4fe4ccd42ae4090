// Whatever comes over the wire is read or refused, and does no harm: run it with the sanitizers.
// Seeds are fixed; UNISONO_FUZZ_ROUNDS multiplies the rounds.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <random>

#include "coordinate/wire/key_file.hpp"
#include "coordinate/wire/sockets.hpp"
#include "coordinate/wire/test_support.hpp"

namespace unisono::coordinate::wire {
namespace {

int rounds(int usual) {
    char const* const factor = std::getenv("UNISONO_FUZZ_ROUNDS");
    return usual * (factor != nullptr ? std::max(1, std::atoi(factor)) : 1);
}

TEST(Fuzz, frames) {
    std::mt19937 dice(61);
    auto const stream = frame("one") + frame(std::string(300, 'x')) + frame("") + frame("last");
    std::size_t whole = 0;
    for (int round = 0; round < rounds(20'000); ++round) {
        auto const text = mutated(stream, dice);
        FrameReader reader(512);
        for (std::size_t at = 0; at < text.size();) {
            auto const step = 1 + dice() % 200;
            reader.add(std::string_view(text).substr(at, step));
            at += step;
            while (auto body = reader.next()) {
                ASSERT_LE(body->size(), 512U);
                ++whole;
            }
            ASSERT_LE(reader.pending_bytes(), text.size());
        }
    }
    EXPECT_GT(whole, 0U);
}

TEST(Fuzz, addresses) {
    std::mt19937 dice(62);
    int accepted = 0;
    for (int round = 0; round < rounds(20'000); ++round) {
        std::string const whole = round % 2 == 0 ? "unix:/run/unisono/gate" : "tcp:[::1]:4711";
        auto const text = mutated(whole, dice);
        if (problem_of([&] { EXPECT_EQ(show(parse_address(text)).empty(), false); }).empty())
            ++accepted;
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, rounds(20'000));
}

// A handshake of which one message was changed is not complete on the side that took it.
TEST(Fuzz, handshakes) {
    OwnFolder const folder;
    auto const prover = make_key_prover(folder.key());
    std::mt19937 dice(63);
    for (int round = 0; round < rounds(1500); ++round) {
        Handshake client(Handshake::Role::client, prover);
        Handshake server(Handshake::Role::server, prover);
        auto const wrong = round % 3;
        bool changed = false;
        auto const pass = [&](int number, std::string const& message) {
            auto const text = number == wrong ? mutated(message, dice) : message;
            changed |= text != message;
            return text;
        };
        try {
            auto const answer = server.take(pass(0, client.begin()));
            auto const proof = client.take(pass(1, answer));
            static_cast<void>(server.take(pass(2, proof)));
            ASSERT_FALSE(changed) << round;
        } catch (Refused const&) {
            ASSERT_TRUE(changed) << round;
        }
        ASSERT_EQ(server.is_complete(), !changed) << round;
    }
}

// What was changed on its way through a connection does not come out: nothing that was not sent.
TEST(Fuzz, sealed_connections) {
    OwnFolder const folder;
    auto const prover = make_key_prover(folder.key());
    std::mt19937 dice(64);
    for (int round = 0; round < rounds(1500); ++round) {
        Handshake client(Handshake::Role::client, prover);
        Handshake server(Handshake::Role::server, prover);
        static_cast<void>(server.take(client.take(server.take(client.begin()))));
        Sealer sealer(client.keys().send);
        std::vector<std::string> const sent{"one", "two", std::string(200, 'x')};
        std::string stream;
        for (auto const& message : sent) stream += frame(sealer.seal(message));
        std::array<int, 2> ends{};
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        Descriptor const writer(ends[0]);
        Connection reader(Descriptor(ends[1]), {}, server.keys());
        auto const text = mutated(stream, dice);
        ASSERT_EQ(send(writer.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
        shutdown(writer.get(), SHUT_WR);
        bool open = true;
        auto const got = reader.receive(open);
        ASSERT_FALSE(open);
        ASSERT_LE(got.size(), sent.size());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], sent[i]) << round;
    }
}

// Bytes without any sense, at the door and inside: the listener goes on.
TEST(Fuzz, a_listener_survives_anything) {
    OwnFolder const folder;
    Auth const auth{.key_file = folder.key()};
    Listener listener(parse_address("tcp:127.0.0.1:0"), auth);
    std::mt19937 dice(65);
    for (int round = 0; round < rounds(150); ++round) {
        Handshake client(Handshake::Role::client, make_prover(auth));
        auto text = frame(client.begin());
        if (round % 2 == 0) text = mutated(text, dice);
        for (auto more = dice() % 2000; more > 0; --more)
            text.push_back(static_cast<char>(dice() % 256));
        auto const where = look_up(listener.address(), 0);
        auto const socket = tcp_socket(where->ai_family);
        connect(socket.get(), where->ai_addr, where->ai_addrlen);
        pollfd one{socket.get(), POLLOUT, 0};
        poll(&one, 1, 10'000);
        send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
        shutdown(socket.get(), SHUT_WR);
        bool closed = false;
        EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
            EXPECT_FALSE(connection);
            std::array<char, 4096> bytes;
            auto const length = recv(socket.get(), bytes.data(), bytes.size(), 0);
            closed = closed || length == 0 || (length < 0 && errno != EAGAIN);
            return closed;
        })) << round;
    }
    EXPECT_TRUE(meet(listener, auth).server);
}

}  // namespace
}  // namespace unisono::coordinate::wire
