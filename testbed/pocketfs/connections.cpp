#include "pocketfs/connections.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "support/descriptor.hpp"

namespace unisono::testbed {
namespace {

Descriptor make_socket() { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// The default route of the calling thread's network.
std::optional<in_addr> default_gateway() {
    std::ifstream routes("/proc/thread-self/net/route");
    std::string line;
    std::getline(routes, line);  // the heading
    while (std::getline(routes, line)) {
        std::istringstream fields(line);
        std::string interface;
        std::uint32_t destination = 0, gateway = 0;
        fields >> interface >> std::hex >> destination >> gateway;
        if (fields && destination == 0 && gateway != 0) return in_addr{gateway};
    }
    return std::nullopt;
}

struct Sockets {
    std::vector<Descriptor> there;
    std::optional<in_addr> gateway;
};

// Sockets stay in the network in which they were made; only a thread of its own can go there.
Sockets make_sockets_in_network_of(std::uint32_t process, std::uint32_t count) {
    Sockets made;
    Descriptor const network(
        open(("/proc/" + std::to_string(process) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
    std::thread([&] {
        if (network.get() < 0 || setns(network.get(), CLONE_NEWNET) != 0) return;
        made.gateway = default_gateway();
        for (std::uint32_t i = 0; i < count; ++i) made.there.push_back(make_socket());
    }).join();
    return made;
}

template <class Value>
void set_option(int fd, int level, int name, Value value) {
    setsockopt(fd, level, name, &value, sizeof value);
}

// A cluster that is gone says nothing: what is not acknowledged, or not alive, for so long is over.
void prepare(int fd) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000U);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

sockaddr_in name_of(int fd, NameOf function) {
    sockaddr_in name{};
    socklen_t length = sizeof name;
    function(fd, reinterpret_cast<sockaddr*>(&name), &length);
    return name;
}

// Accepts until it is the peer of `there`: others may find the port, too.
Descriptor accept_peer_of(int listener, int there) {
    auto const expected = name_of(there, getsockname);
    for (;;) {
        Descriptor here(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (here.get() < 0) return here;
        auto const peer = name_of(here.get(), getpeername);
        if (peer.sin_port == expected.sin_port && peer.sin_addr.s_addr == expected.sin_addr.s_addr)
            return here;
    }
}

Descriptor listen_at(in_addr gateway) {
    auto listener = make_socket();
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = gateway, .sin_zero = {}};
    set_option(listener.get(), SOL_SOCKET, SO_RCVTIMEO, timeval{.tv_sec = 0, .tv_usec = 500'000});
    if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener.get(), 1) != 0)
        return Descriptor();
    return listener;
}

bool connect_within_a_moment(int there, int listener) {
    auto const address = name_of(listener, getsockname);
    set_option(there, SOL_SOCKET, SO_SNDTIMEO, timeval{.tv_sec = 0, .tv_usec = 500'000});
    return connect(there, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
}

}  // namespace

Connection::Connection(Connection&& other) noexcept
    : there_(std::exchange(other.there_, -1)), here_(std::exchange(other.here_, -1)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
    std::swap(there_, other.there_);
    std::swap(here_, other.here_);
    return *this;
}

Connection::~Connection() {
    if (there_ >= 0) close(there_);
    if (here_ >= 0) close(here_);
}

std::vector<Connection> connect_to_network_of(std::uint32_t process, std::uint32_t count) {
    auto sockets = make_sockets_in_network_of(process, count);
    if (!sockets.gateway) return {};
    auto const listener = listen_at(*sockets.gateway);
    if (listener.get() < 0) return {};
    std::vector<Connection> made;
    for (auto& there : sockets.there) {
        if (!connect_within_a_moment(there.get(), listener.get())) return {};
        auto here = accept_peer_of(listener.get(), there.get());
        if (here.get() < 0) return {};
        prepare(there.get());
        prepare(here.get());
        made.emplace_back(there.release(), here.release());
    }
    return made;
}

}  // namespace unisono::testbed
