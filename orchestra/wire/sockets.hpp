#pragma once

#include <netdb.h>
#include <sys/un.h>

#include <memory>
#include <string>

#include "orchestra/wire/address.hpp"
#include "support/descriptor.hpp"

namespace unisono::orchestra::wire {

/// What clients and listeners need of the system. All sockets are nonblocking and closed by exec;
/// what fails throws std::runtime_error.

Descriptor local_socket();
sockaddr_un local_address(std::string const& path);

/// Who is on the other side of a connected local socket, as the kernel knows.
struct LocalPeer {
    uid_t uid = 0;
    std::string name;  ///< for people: "process 4711"
};
LocalPeer local_peer(Descriptor const& socket);
/// Root, and whoever this process belongs to.
bool is_trusted(uid_t uid);

/// Small messages go at once, and a peer whose machine is gone is noticed within a minute or so.
Descriptor tcp_socket(int family);
/// For a socket that accept() made.
void make_prompt(Descriptor const& socket);

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
/// May ask name servers, so it may take a while.
Addresses look_up(Address const& address, int flags);
/// "host:port", numbers.
std::string show(sockaddr_storage const& address);

}  // namespace unisono::orchestra::wire
