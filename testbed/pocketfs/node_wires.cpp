#include "pocketfs/node_wires.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "support/signals_blocked.hpp"

namespace unisono::testbed {
namespace {

constexpr auto retry_after = std::chrono::seconds(1);
constexpr std::size_t receive_bytes_max = 1 << 20;
std::array<char, 256 * 1024> const zeros{};

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

NodeWires::Wire::Wire(Connection own) : connection(std::move(own)) {
    auto& out = lanes[static_cast<int>(Way::to_server)];
    auto& in = lanes[static_cast<int>(Way::to_client)];
    out.from = in.to = connection.there();
    in.from = out.to = connection.here();
}

NodeWires::NodeWires(std::uint32_t servers)
    : servers_(servers), epoll_(epoll_create1(EPOLL_CLOEXEC)), stop_(eventfd(0, EFD_CLOEXEC)) {
    struct stat own {};
    if (stat("/proc/self/ns/net", &own) == 0) own_network_ = own.st_ino;
    epoll_event event{.events = EPOLLIN, .data = {.fd = stop_}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, stop_, &event);
    SignalsBlocked const signals_blocked;  // they are for the program's main thread
    thread_ = std::thread([this] { run(); });
}

NodeWires::~NodeWires() {
    eventfd_write(stop_, 1);
    thread_.join();
    std::vector<Done> lost;
    while (!nodes_.empty()) drop(nodes_.begin()->first, lost);
    for (auto& done : lost) done();
    close(stop_);
    close(epoll_);
}

// ---- connecting
// ----------------------------------------------------------------------------------

bool NodeWires::reach(Client const& client) {
    if (client.node == own_network_) return false;
    std::lock_guard const connecting(connecting_mutex_);
    {
        std::lock_guard const lock(mutex_);
        if (nodes_.contains(client.node)) return true;
    }
    auto const now = Clock::now();
    auto const found = not_before_.find(client.node);
    if (found != not_before_.end() && now < found->second) return false;
    auto connections = connect_to_network_of(client.process, servers_);
    if (connections.empty()) {
        not_before_[client.node] = now + retry_after;
        return false;
    }
    Node node;
    for (auto& connection : connections) node.wires.emplace_back(std::move(connection));
    std::lock_guard const lock(mutex_);
    auto const& added = nodes_[client.node] = std::move(node);
    for (std::uint32_t server = 0; server < servers_; ++server)
        for (auto const& lane : added.wires[server].lanes)
            place_of_[lane.from] = {client.node, server};
    watch(added);
    return true;
}

// Edge-triggered: told when there is room or data again, after there was none.
void NodeWires::watch(Node const& node) {
    for (auto const& wire : node.wires)
        for (auto const& lane : wire.lanes) {
            epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                              .data = {.fd = lane.from}};
            epoll_ctl(epoll_, EPOLL_CTL_ADD, lane.from, &event);
        }
}

// The node is out of reach; nobody waits for it any more.
void NodeWires::drop(std::uint64_t node, std::vector<Done>& lost) {
    auto const found = nodes_.find(node);
    for (auto& wire : found->second.wires)
        for (auto& lane : wire.lanes) {
            for (auto& [bytes, done] : lane.arriving) lost.push_back(std::move(done));
            place_of_.erase(lane.from);
        }
    nodes_.erase(found);
}

// ---- carrying
// ------------------------------------------------------------------------------------

void NodeWires::carry(std::uint64_t node, std::uint32_t server, Way way, std::uint64_t bytes,
                      Done done) {
    std::vector<Done> lost;
    {
        std::lock_guard const lock(mutex_);
        auto const found = nodes_.find(node);
        if (found == nodes_.end()) {
            lost.push_back(std::move(done));
        } else {
            auto& lane = found->second.wires[server].lanes[static_cast<int>(way)];
            lane.arriving.emplace_back(bytes, std::move(done));
            lane.unsent_bytes += bytes;
            if (!send_on(lane)) drop(node, lost);
        }
    }
    for (auto& one : lost) one();
}

// Hands the kernel what it takes. False: the connection is lost.
bool NodeWires::send_on(Lane& lane) {
    while (lane.unsent_bytes > 0) {
        auto const bytes = std::min<std::uint64_t>(lane.unsent_bytes, zeros.size());
        auto const sent = send(lane.from, zeros.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return would_block();
        lane.unsent_bytes -= static_cast<std::uint64_t>(sent);
    }
    return true;
}

// Throws away what has come, which is all that there is to do with it. False: as above.
bool NodeWires::receive_on(Lane& lane, std::vector<Done>& arrived) {
    for (;;) {
        auto const got = recv(lane.to, nullptr, receive_bytes_max, MSG_TRUNC | MSG_DONTWAIT);
        if (got < 0) return would_block();
        if (got == 0) return false;
        count(lane, static_cast<std::uint64_t>(got), arrived);
    }
}

void NodeWires::count(Lane& lane, std::uint64_t bytes, std::vector<Done>& arrived) {
    while (bytes > 0 && !lane.arriving.empty()) {
        auto& [left, done] = lane.arriving.front();
        auto const part = std::min(left, bytes);
        left -= part;
        bytes -= part;
        if (left > 0) return;
        arrived.push_back(std::move(done));
        lane.arriving.pop_front();
    }
}

void NodeWires::handle(int fd, std::vector<Done>& arrived) {
    auto const place = place_of_.find(fd);
    if (place == place_of_.end()) return;  // an event of a connection that is gone
    auto const [node, server] = place->second;
    auto& lanes = nodes_.at(node).wires[server].lanes;
    auto& out = lanes[0].from == fd ? lanes[0] : lanes[1];
    auto& in = lanes[0].from == fd ? lanes[1] : lanes[0];
    if (!send_on(out) || !receive_on(in, arrived)) drop(node, arrived);
}

void NodeWires::run() {
    pthread_setname_np(pthread_self(), "node wires");
    std::array<epoll_event, 64> events{};
    for (;;) {
        int const count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
        std::vector<Done> arrived;
        {
            std::lock_guard const lock(mutex_);
            for (int i = 0; i < count; ++i) {
                auto const fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == stop_) return;
                handle(fd, arrived);
            }
        }
        for (auto& done : arrived) done();
    }
}

}  // namespace unisono::testbed
