// The client's side of a connection, up to when it is let in.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "orchestra/wire/connection.hpp"
#include "orchestra/wire/sockets.hpp"

namespace unisono::orchestra::wire {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char const* refusal =
    "it closed the connection: it does not trust this user, or has too many already";

// A socket and the time by which all has to be done.
class Attempt {
public:
    Attempt(Descriptor socket, Clock::time_point deadline)
        : socket_(std::move(socket)), deadline_(deadline) {}

    void reach(sockaddr const* address, socklen_t length, Clock::time_point until) const {
        if (::connect(socket_.get(), address, length) == 0) return;
        if (errno != EINPROGRESS) throw std::runtime_error(std::strerror(errno));
        wait(socket_.get(), POLLOUT, until);
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) throw std::runtime_error(std::strerror(error));
    }

    // What it says is short, so only the other side's answers have to be waited for.
    [[nodiscard]] Tls shake_hands(Key const& key) const {
        Tls tls(Tls::Side::client, key, socket_.get());
        while (!tls.shake_hands()) wait(socket_.get(), POLLIN, deadline_);
        return tls;
    }

    // Until the other side lets it in.
    std::unique_ptr<Connection> enter(std::optional<Tls> tls, std::string const& peer) {
        auto const fd = socket_.get();
        auto connection = std::make_unique<Connection>(std::move(socket_), std::move(tls), peer);
        bool open = true;
        auto messages = connection->receive(open);
        for (; open && messages.empty(); messages = connection->receive(open))
            wait(fd, POLLIN, deadline_);
        if (messages.empty()) throw std::runtime_error(refusal);
        if (messages != std::vector<std::string>{std::string(welcome)})
            throw std::runtime_error("it does not speak Unisono's protocol");
        return connection;
    }

    [[nodiscard]] Descriptor const& socket() const { return socket_; }

private:
    static void wait(int fd, short events, Clock::time_point until) {
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        pollfd one{fd, events, 0};
        int const ready = left.count() < 0 ? 0 : poll(&one, 1, static_cast<int>(left.count()) + 1);
        if (ready == 0) throw std::runtime_error("it does not answer");
        if (ready < 0 && errno != EINTR) throw std::runtime_error(std::strerror(errno));
    }

    Descriptor socket_;
    Clock::time_point deadline_;
};

Attempt reach_local(std::string const& path, Clock::time_point deadline) {
    Attempt attempt(local_socket(), deadline);
    auto const address = local_address(path);
    attempt.reach(reinterpret_cast<sockaddr const*>(&address), sizeof address, deadline);
    return attempt;
}

// Each of its addresses has an equal part of the time that is left: some may be in networks of
// which this node sees nothing.
Attempt reach_tcp(Address const& address, Clock::time_point deadline) {
    auto const found = look_up(address, 0);
    int left = 0;
    for (auto const* one = found.get(); one != nullptr; one = one->ai_next) ++left;
    std::string problem;
    for (auto const* one = found.get(); one != nullptr; one = one->ai_next, --left) try {
            Attempt attempt(tcp_socket(one->ai_family), deadline);
            auto const now = Clock::now();
            attempt.reach(one->ai_addr, one->ai_addrlen, now + (deadline - now) / left);
            return attempt;
        } catch (std::runtime_error const& error) {
            problem = error.what();
        }
    throw std::runtime_error(problem);
}

std::unique_ptr<Connection> connect_local(Address const& address, Clock::time_point deadline) {
    auto attempt = reach_local(address.path, deadline);
    auto const peer = local_peer(attempt.socket());
    if (!is_trusted(peer.uid))
        throw std::runtime_error("it is of user " + std::to_string(peer.uid));
    return attempt.enter({}, peer.name);
}

std::unique_ptr<Connection> connect_tcp(Address const& address, std::string const& key_file,
                                        Clock::time_point deadline) {
    auto const key = read_key(key_file);
    auto attempt = reach_tcp(address, deadline);
    auto tls = attempt.shake_hands(key);
    return attempt.enter(std::move(tls), show(address));
}

}  // namespace

std::unique_ptr<Connection> connect(Address const& address, std::string const& key_file,
                                    std::chrono::milliseconds limit) {
    auto const deadline = Clock::now() + limit;
    try {
        return address.kind == Address::Kind::local ? connect_local(address, deadline)
                                                    : connect_tcp(address, key_file, deadline);
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(show(address) + ": " + error.what());
    }
}

}  // namespace unisono::orchestra::wire
