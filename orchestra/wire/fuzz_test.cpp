// Whatever comes over the wire is read or refused, and does no harm: run it with the sanitizers.
// Seeds are fixed; UNISONO_FUZZ_ROUNDS multiplies the rounds.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <random>

#include "orchestra/wire/test_support.hpp"

namespace unisono::orchestra::wire {
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

// What was changed on its way through a connection does not come out: nothing that was not sent.
TEST(Fuzz, connections) {
    Key const key;
    std::mt19937 dice(64);
    for (int round = 0; round < rounds(300); ++round) {
        auto line = make_line();
        Tls client(Tls::Side::client, key, line[0].get());
        Tls server(Tls::Side::server, key, line[1].get());
        for (bool done = false; !done;) {
            done = client.shake_hands();
            done = server.shake_hands() && done;
        }
        Connection writer(std::move(line[0]), std::move(client), "writer");
        Connection reader(std::move(line[1]), std::move(server), "reader");
        std::vector<std::string> const sent{"one", "two", std::string(200, 'x')};
        for (auto const& message : sent) ASSERT_TRUE(writer.send(message));
        std::array<char, 4096> bytes;
        auto const length = recv(reader.fd(), bytes.data(), bytes.size(), 0);
        ASSERT_GT(length, 0);
        auto const text = mutated({bytes.data(), static_cast<std::size_t>(length)}, dice);
        ASSERT_EQ(send(writer.fd(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
        shutdown(writer.fd(), SHUT_WR);
        bool open = true;
        std::vector<std::string> got;
        for (int tries = 0; open && tries < 100; ++tries)
            for (auto& message : reader.receive(open)) got.push_back(std::move(message));
        ASSERT_FALSE(open) << round;
        ASSERT_LE(got.size(), sent.size());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], sent[i]) << round;
    }
}

// Bytes without any sense, at the door and inside: the listener goes on.
TEST(Fuzz, a_listener_survives_anything) {
    OwnFolder const folder;
    auto const key_file = folder.key();
    Listener listener(parse_address("tcp:127.0.0.1:0"), key_file);
    auto const key = read_key(key_file);
    std::mt19937 dice(65);
    for (int round = 0; round < rounds(150); ++round) {
        auto text = first_words(key);
        if (round % 2 == 0) text = mutated(text, dice);
        for (auto more = dice() % 2000; more > 0; --more)
            text.push_back(static_cast<char>(dice() % 256));
        auto const socket = dial(listener);
        put(socket, text);
        shutdown(socket.get(), SHUT_WR);
        bool closed = false;
        EXPECT_TRUE(serve(listener, [&](std::unique_ptr<Connection> connection) {
            EXPECT_FALSE(connection);
            take_all(socket, closed);
            return closed;
        })) << round;
    }
    EXPECT_TRUE(meet(listener, key_file).server);
}

}  // namespace
}  // namespace unisono::orchestra::wire
