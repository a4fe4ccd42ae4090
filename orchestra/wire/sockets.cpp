#include "orchestra/wire/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace unisono::orchestra::wire {

namespace {

Descriptor make_socket(int family) {
    Descriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
    return made;
}

void set(Descriptor const& socket, int level, int option, int value) {
    setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

Descriptor local_socket() { return make_socket(AF_UNIX); }

sockaddr_un local_address(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

LocalPeer local_peer(Descriptor const& socket) {
    ucred who{};
    socklen_t length = sizeof who;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
        throw std::runtime_error(std::string("nobody knows who is there: ") + std::strerror(errno));
    return {who.uid, "process " + std::to_string(who.pid)};
}

bool is_trusted(uid_t uid) { return uid == 0 || uid == geteuid(); }

Descriptor tcp_socket(int family) {
    auto socket = make_socket(family);
    make_prompt(socket);
    return socket;
}

void make_prompt(Descriptor const& socket) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 20);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
    // While something is under way nobody asks whether the other is alive.
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
}

Addresses look_up(Address const& address, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    int const error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
    if (error != 0) throw std::runtime_error(gai_strerror(error));
    return {found, &freeaddrinfo};
}

std::string show(sockaddr_storage const& address) {
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (getnameinfo(reinterpret_cast<sockaddr const*>(&address), sizeof address, host.data(),
                    host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unknown";
    return std::string(host.data()) + ":" + port.data();
}

}  // namespace unisono::orchestra::wire
