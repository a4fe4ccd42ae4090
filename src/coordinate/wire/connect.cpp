// The client's side of a connection, up to when it is let in.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "coordinate/wire/connection.hpp"
#include "coordinate/wire/sockets.hpp"

namespace unisono::coordinate::wire {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char const* refusal =
    "it closed the connection: it does not trust this user or this key, or has too many already";

// A socket and the time by which all has to be done.
class Attempt {
public:
    Attempt(Descriptor socket, Clock::time_point deadline)
        : socket_(std::move(socket)), deadline_(deadline) {}

    void reach(sockaddr const* address, socklen_t length) const {
        if (::connect(socket_.get(), address, length) == 0) return;
        if (errno != EINPROGRESS) throw std::runtime_error(std::strerror(errno));
        wait(POLLOUT);
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) throw std::runtime_error(std::strerror(error));
    }

    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            auto const length = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (length > 0)
                bytes.remove_prefix(static_cast<std::size_t>(length));
            else if (errno == EAGAIN)
                wait(POLLOUT);
            else if (errno != EINTR)
                throw std::runtime_error(refusal);
        }
    }

    // Not one byte more than the frame: what follows is the connection's.
    [[nodiscard]] std::string read_frame() const {
        FrameReader reader(handshake_bytes_max);
        for (;;) {
            if (auto body = reader.next()) return *body;
            if (reader.broken()) throw std::runtime_error("it does not speak Unisono's protocol");
            reader.add(read(reader.needed_bytes()));
        }
    }

    [[nodiscard]] Descriptor const& socket() const { return socket_; }
    Descriptor take() { return std::move(socket_); }

private:
    void wait(short events) const {
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
        pollfd one{socket_.get(), events, 0};
        int const ready = left.count() < 0 ? 0 : poll(&one, 1, static_cast<int>(left.count()) + 1);
        if (ready == 0) throw std::runtime_error("it does not answer");
        if (ready < 0 && errno != EINTR) throw std::runtime_error(std::strerror(errno));
    }

    [[nodiscard]] std::string read(std::size_t most) const {
        std::string bytes(most, '\0');
        for (;;) {
            auto const length = recv(socket_.get(), bytes.data(), most, 0);
            if (length > 0) return bytes.substr(0, static_cast<std::size_t>(length));
            if (length == 0 || (errno != EAGAIN && errno != EINTR))
                throw std::runtime_error(refusal);
            if (errno == EAGAIN) wait(POLLIN);
        }
    }

    Descriptor socket_;
    Clock::time_point deadline_;
};

Attempt reach_local(std::string const& path, Clock::time_point deadline) {
    Attempt attempt(local_socket(), deadline);
    auto const address = local_address(path);
    attempt.reach(reinterpret_cast<sockaddr const*>(&address), sizeof address);
    return attempt;
}

Attempt reach_tcp(Address const& address, Clock::time_point deadline) {
    auto const found = look_up(address, 0);
    std::string problem;
    for (auto const* one = found.get(); one != nullptr; one = one->ai_next) try {
            Attempt attempt(tcp_socket(one->ai_family), deadline);
            attempt.reach(one->ai_addr, one->ai_addrlen);
            return attempt;
        } catch (std::runtime_error const& error) {
            problem = error.what();
        }
    throw std::runtime_error(problem);
}

std::unique_ptr<Connection> wait_at_the_door(Attempt attempt, Peer peer,
                                             std::optional<SessionKeys> const& keys) {
    auto const first = attempt.read_frame();
    auto connection = std::make_unique<Connection>(attempt.take(), std::move(peer), keys);
    if (!connection->takes_welcome(first))
        throw std::runtime_error("it does not speak Unisono's protocol");
    return connection;
}

std::unique_ptr<Connection> connect_local(Address const& address, Clock::time_point deadline) {
    auto attempt = reach_local(address.path, deadline);
    auto peer = local_peer(attempt.socket());
    if (!is_trusted(peer.uid))
        throw std::runtime_error("it is of user " + std::to_string(peer.uid));
    return wait_at_the_door(std::move(attempt), std::move(peer), {});
}

std::unique_ptr<Connection> connect_tcp(Address const& address, Auth const& auth,
                                        Clock::time_point deadline) {
    Handshake handshake(Handshake::Role::client, make_prover(auth));
    auto attempt = reach_tcp(address, deadline);
    attempt.write(frame(handshake.begin()));
    attempt.write(frame(handshake.take(attempt.read_frame())));
    return wait_at_the_door(std::move(attempt), {handshake.uid(), show(address)}, handshake.keys());
}

}  // namespace

std::unique_ptr<Connection> connect(Address const& address, Auth const& auth,
                                    std::chrono::milliseconds limit) {
    auto const deadline = Clock::now() + limit;
    try {
        return address.kind == Address::Kind::local ? connect_local(address, deadline)
                                                    : connect_tcp(address, auth, deadline);
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(show(address) + ": " + error.what());
    }
}

}  // namespace unisono::coordinate::wire
