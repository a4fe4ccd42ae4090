#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "orchestra/mutated.hpp"
#include "orchestra/wire/connection.hpp"
#include "orchestra/wire/listener.hpp"
#include "orchestra/wire/sockets.hpp"

namespace unisono::orchestra::wire {

/// Nobody else may enter it; gone with the object.
class OwnFolder {
public:
    OwnFolder() : path_(std::filesystem::temp_directory_path() / "unisono-wire-XXXXXX") {
        std::string name = path_;
        if (mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    OwnFolder(OwnFolder const&) = delete;
    OwnFolder& operator=(OwnFolder const&) = delete;
    ~OwnFolder() { std::filesystem::remove_all(path_); }

    [[nodiscard]] std::string operator/(std::string const& name) const { return path_ / name; }
    [[nodiscard]] Address socket() const { return parse_address("unix:" + *this / "socket"); }

    /// A key file that is all right.
    [[nodiscard]] std::string key(char digit = 'a') const {
        auto const path = *this / (std::string("key-") + digit);
        std::ofstream(path) << std::string(64, digit) << '\n';
        std::filesystem::permissions(path, std::filesystem::perms(0600));
        return path;
    }

private:
    std::filesystem::path path_;
};

inline constexpr std::chrono::seconds patience{60};  // machines may be busy

/// Waits as a daemon would, until `done` or `limit`. False: the time is over.
inline bool serve(Listener& listener, std::function<bool(std::unique_ptr<Connection>)> const& done,
                  std::chrono::milliseconds limit = patience) {
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
        pollfd one{listener.fd(), POLLIN, 0};
        poll(&one, 1, 10);
        if (done(listener.accept())) return true;
    }
    return false;
}

struct Pair {
    std::unique_ptr<Connection> server;
    std::unique_ptr<Connection> client;
};

/// Connects to a listener in this process. Throws what connect() throws.
inline Pair meet(Listener& listener, std::string const& key_file = {}) {
    auto client = std::async(std::launch::async,
                             [&] { return connect(listener.address(), key_file, patience); });
    Pair pair;
    serve(listener, [&](std::unique_ptr<Connection> connection) {
        if (connection) pair.server = std::move(connection);
        return client.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    pair.client = client.get();
    return pair;
}

/// What arrives until the first message, or until the connection is not open any more.
inline std::vector<std::string> await(Connection& connection, bool& open) {
    auto const deadline = std::chrono::steady_clock::now() + patience;
    std::vector<std::string> messages;
    open = true;
    while (open && messages.empty() && std::chrono::steady_clock::now() < deadline) {
        pollfd one{connection.fd(), POLLIN, 0};
        poll(&one, 1, 10);
        messages = connection.receive(open);
    }
    return messages;
}

/// Two ends of one line.
inline std::array<Descriptor, 2> make_line() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
        std::abort();
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// All that has arrived. `closed` is set when nothing more will.
inline std::string take_all(Descriptor const& socket, bool& closed) {
    std::string all;
    std::array<char, 65536> bytes;
    for (;;) {
        auto const length = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        closed = length == 0 || (length < 0 && errno != EAGAIN);
        if (length <= 0) return all;
        all.append(bytes.data(), static_cast<std::size_t>(length));
    }
}
inline std::string take_all(Descriptor const& socket) {
    bool closed = false;
    return take_all(socket, closed);
}

inline void put(Descriptor const& socket, std::string_view bytes) {
    if (send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(bytes.size()))
        std::abort();
}

/// What a client with this key says first.
inline std::string first_words(Key const& key) {
    auto const line = make_line();
    Tls client(Tls::Side::client, key, line[0].get());
    static_cast<void>(client.shake_hands());
    return take_all(line[1]);
}

/// A connection to a TCP listener that knows the address only; `from`: another address of this
/// machine, as if it were another host.
inline Descriptor dial(Listener const& listener, char const* from = "127.0.0.1") {
    auto const found = look_up(listener.address(), 0);
    auto const own =
        look_up({.kind = Address::Kind::tcp, .path = "", .host = from, .port = "0"}, 0);
    auto socket = tcp_socket(found->ai_family);
    if (bind(socket.get(), own->ai_addr, own->ai_addrlen) != 0) std::abort();
    ::connect(socket.get(), found->ai_addr, found->ai_addrlen);
    pollfd one{socket.get(), POLLOUT, 0};
    poll(&one, 1, 10'000);
    return socket;
}

/// What went wrong, as text; empty: nothing did.
inline std::string problem_of(std::function<void()> const& what) {
    try {
        what();
    } catch (std::exception const& error) {
        return error.what();
    }
    return {};
}

}  // namespace unisono::orchestra::wire
