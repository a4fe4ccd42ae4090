#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace unisono::orchestra::wire {

/// Where an orchestrator listens: "unix:/path" on this machine, or "tcp:host:port" across nodes. An
/// IPv6 host has brackets: "tcp:[::1]:4711".
struct Address {
    enum class Kind : std::uint8_t { local, tcp };

    Kind kind = Kind::local;
    std::string path;  ///< of the local socket
    std::string host;
    std::string port;
};

/// Throws std::runtime_error. There is no default: who wants to listen everywhere has to say so.
Address parse_address(std::string_view text);
std::string show(Address const& address);

}  // namespace unisono::orchestra::wire
