#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace unisono::simulated {

/// Links of a simulated machine: each node has one of its own, full duplex, to a switch that is
/// fast enough, and so has each data server.
struct Network {
    double latency_s = 2e-6;  ///< more than 0
    double bytes_per_s = 12.5e9;
    double message_s = 1e-6;    ///< that a message keeps each of its two ranks busy
    std::uint32_t servers = 0;  ///< 0: file accesses cost nothing
    double server_bytes_per_s = 5e9;
    double request_s = 20e-6;  ///< that a server needs for a request, whatever its size
    std::uint64_t stripe_bytes = 1 << 20;

    friend bool operator==(Network const&, Network const&) = default;
};

/// What a collective operation takes once all ranks have come. The ranks of a node share memory: a
/// step there is a message's work, between nodes a message.
struct CollectiveCost {
    Network const& network;
    std::uint32_t nodes;
    std::uint32_t ranks_of_node;  ///< at most
    /// A reduction, or a gather, that all get the result of: a tree to each node's leader,
    /// recursive doubling over these (two steps more where they are no power of two; MPICH 4.0's
    /// allreduce_intra_smp.c and _recursive_doubling.c), a tree back. `bytes` cross each link, as
    /// many in each step as it says.
    [[nodiscard]] double merge_s(std::uint64_t bytes_a_step, std::uint64_t bytes = 0) const;
    /// MPI_Alltoall of so many bytes for each pair of ranks by Bruck's algorithm: with blocks of
    /// ranks on nodes, the steps within them cross to another node once.
    [[nodiscard]] double alltoall_s(std::uint64_t bytes) const;
};

/// A message on its way.
struct Crossing {
    double bytes = 0;
    double pause_s = 0;               ///< of the receiver's link before its first byte
    double reaches_s = 0;             ///< when its first byte comes to the receiver's link
    double sent_s = 0;                ///< when its last byte can be there, however fast that is
    std::optional<double> arrives_s;  ///< when its last byte is there; known from reaches_s on
};

/// When messages arrive. A link carries one message after the other, in the order in which they
/// come to it, so a message costs O(log of those under way), however many share a link. (SimGrid
/// 3.32 looks for each message that ends among all that are under way.)
class Links {
public:
    /// Of nodes, and of the data servers after them.
    Links(std::size_t nodes, Network const& network)
        : network_{network},
          nodes_{nodes},
          out_free_s_(nodes + network.servers),
          in_(nodes + network.servers) {}

    /// A message leaves now, or once the sender's link is free. Calls ascend in `now_s`.
    /// `pause_s`: that either server's end does nothing else before it.
    std::shared_ptr<Crossing> send(double now_s, std::size_t from, std::size_t to,
                                   std::uint64_t bytes, double pause_s = 0);

    /// When a message arrives that was sent to that node. Not to be asked before it reaches the
    /// node's link: until then others may come before it.
    double arrival(Crossing const& crossing, std::size_t to);

private:
    struct In {
        double free_s = 0;
        std::multimap<double, std::shared_ptr<Crossing>> coming;  // by when they reach it
    };

    [[nodiscard]] bool is_server(std::size_t end) const { return end >= nodes_; }
    [[nodiscard]] double bytes_per_s(std::size_t end) const {
        return is_server(end) ? network_.server_bytes_per_s : network_.bytes_per_s;
    }

    Network network_;
    std::size_t nodes_;
    std::vector<double> out_free_s_;  // by node
    std::vector<In> in_;
};

}  // namespace unisono::simulated
