#pragma once

#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "coordinate/mutated.hpp"
#include "coordinate/wire/connection.hpp"
#include "coordinate/wire/listener.hpp"

namespace unisono::coordinate::wire {

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

inline constexpr std::chrono::seconds patience{20};  // machines may be busy

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
inline Pair meet(Listener& listener, Auth const& auth = {}) {
    auto client =
        std::async(std::launch::async, [&] { return connect(listener.address(), auth, patience); });
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

/// What went wrong, as text; empty: nothing did.
inline std::string problem_of(std::function<void()> const& what) {
    try {
        what();
    } catch (std::exception const& error) {
        return error.what();
    }
    return {};
}

}  // namespace unisono::coordinate::wire
