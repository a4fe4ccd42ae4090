#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "pocketfs/carrier.hpp"
#include "pocketfs/connections.hpp"

namespace unisono::testbed {

/// Carries file data into and out of the nodes of a pocket cluster: one TCP connection for each
/// node and server, on which go as many bytes as the requests have. So they share the node's link
/// with its MPI messages, as their connections do. What the bytes are does not matter: zeros.
///
/// Clients outside of a cluster, and of one that is gone, are not reached. Needs root.
class NodeWires final : public Carrier {
public:
    explicit NodeWires(std::uint32_t servers);
    NodeWires(NodeWires const&) = delete;
    NodeWires& operator=(NodeWires const&) = delete;
    /// Calls what is outstanding.
    ~NodeWires() override;

    bool reach(Client const& client) override;
    void carry(std::uint64_t node, std::uint32_t server, Way way, std::uint64_t bytes,
               Done done) override;

private:
    using Clock = std::chrono::steady_clock;

    /// One way of one connection.
    struct Lane {
        int from = -1;
        int to = -1;
        std::uint64_t unsent_bytes = 0;
        std::deque<std::pair<std::uint64_t, Done>> arriving;  // bytes that are still to come
    };

    struct Wire {
        explicit Wire(Connection own);
        Connection connection;
        Lane lanes[2];  // by Way
    };

    struct Node {
        std::vector<Wire> wires;  // by server
    };

    void run();
    void handle(int fd, std::vector<Done>& arrived);
    void watch(Node const& node);
    static bool send_on(Lane& lane);
    static bool receive_on(Lane& lane, std::vector<Done>& arrived);
    static void count(Lane& lane, std::uint64_t bytes, std::vector<Done>& arrived);
    void drop(std::uint64_t node, std::vector<Done>& lost);

    std::uint32_t servers_;
    std::uint64_t own_network_ = 0;
    int epoll_;
    int stop_;  // an eventfd

    std::mutex connecting_mutex_;                            // taken before the other one
    std::map<std::uint64_t, Clock::time_point> not_before_;  // of nodes that were not reached

    std::mutex mutex_;
    std::map<std::uint64_t, Node> nodes_;
    std::map<int, std::pair<std::uint64_t, std::uint32_t>> place_of_;  // descriptor: node, server
    std::thread thread_;
};

}  // namespace unisono::testbed
