#pragma once

#include <cstdint>
#include <vector>

namespace unisono::testbed {

/// A TCP connection between another network namespace and this process's own. Closes its ends.
class Connection {
public:
    Connection(int there, int here) : there_(there), here_(here) {}
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;
    ~Connection();

    [[nodiscard]] int there() const { return there_; }
    [[nodiscard]] int here() const { return here_; }

private:
    int there_;
    int here_;
};

/// Connects to the network of a process, through what that network has as its default gateway: on a
/// pocket cluster the bridge, which is an interface of this machine. Needs root.
/// @return `count` connections; none if it cannot be done. Takes at most a second.
std::vector<Connection> connect_to_network_of(std::uint32_t process, std::uint32_t count);

}  // namespace unisono::testbed
