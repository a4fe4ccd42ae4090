#include "orchestra/wire/address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <stdexcept>

namespace unisono::orchestra::wire {

namespace {

constexpr std::string_view local_prefix = "unix:";
constexpr std::string_view tcp_prefix = "tcp:";
constexpr std::size_t path_length_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t host_length_max = 253;

[[noreturn]] void refuse(std::string_view text, std::string const& why) {
    // Not all of it: who knows where it comes from.
    throw std::runtime_error("address '" + std::string(text.substr(0, 120)) + "': " + why);
}

Address parse_tcp(std::string_view text, std::string_view rest) {
    auto const colon = rest.rfind(':');
    if (colon == std::string_view::npos) refuse(text, "the port is missing");
    auto host = rest.substr(0, colon);
    auto const port = rest.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
        refuse(text, "an IPv6 host needs [brackets]");
    if (host.empty() || host.size() > host_length_max ||
        host.find_first_of(std::string_view("[]\0", 3)) != std::string_view::npos)
        refuse(text, "the host is missing or no name");
    bool const digits = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
    if (port.empty() || port.size() > 5 || !digits || std::stoi(std::string(port)) > 65535)
        refuse(text, "the port is a number up to 65535");
    return {Address::Kind::tcp, "", std::string(host), std::string(port)};
}

}  // namespace

Address parse_address(std::string_view text) {
    if (text.starts_with(tcp_prefix)) return parse_tcp(text, text.substr(tcp_prefix.size()));
    if (!text.starts_with(local_prefix)) refuse(text, "valid are unix:/PATH and tcp:HOST:PORT");
    auto const path = text.substr(local_prefix.size());
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos)
        refuse(text, "the path has to begin with /");
    if (path.size() > path_length_max)
        refuse(text, "paths of sockets have at most " + std::to_string(path_length_max) + " bytes");
    return {Address::Kind::local, std::string(path), "", ""};
}

std::string show(Address const& address) {
    if (address.kind == Address::Kind::local) return std::string(local_prefix) + address.path;
    bool const brackets = address.host.find(':') != std::string::npos;
    return std::string(tcp_prefix) + (brackets ? "[" + address.host + "]" : address.host) + ":" +
           address.port;
}

}  // namespace unisono::orchestra::wire
