#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace unisono::simulated {

/// Links of a simulated machine: each node has one of its own, full duplex, to a switch that is
/// fast enough.
struct Network {
    double latency_s = 2e-6;  ///< more than 0
    double bytes_per_s = 12.5e9;

    friend bool operator==(Network const&, Network const&) = default;
};

/// A message on its way.
struct Crossing {
    double bytes = 0;
    double reaches_s = 0;             ///< when its first byte comes to the receiver's link
    std::optional<double> arrives_s;  ///< when its last byte is there; known from reaches_s on
};

/// When messages arrive. A link carries one message after the other, in the order in which they
/// come to it, so a message costs O(log of those under way), however many share a link. (SimGrid
/// 3.32 looks for each message that ends among all that are under way.)
class Links {
public:
    Links(std::size_t nodes, Network const& network)
        : network_{network}, out_free_s_(nodes), in_(nodes) {}

    /// A message leaves now, or once the sender's link is free. Calls ascend in `now_s`.
    std::shared_ptr<Crossing> send(double now_s, std::uint32_t from, std::uint32_t to,
                                   std::uint64_t bytes);

    /// When a message arrives that was sent to that node. Not to be asked before it reaches the
    /// node's link: until then others may come before it.
    double arrival(Crossing const& crossing, std::uint32_t to);

private:
    struct In {
        double free_s = 0;
        std::multimap<double, std::shared_ptr<Crossing>> coming;  // by when they reach it
    };

    Network network_;
    std::vector<double> out_free_s_;  // by node
    std::vector<In> in_;
};

}  // namespace unisono::simulated
