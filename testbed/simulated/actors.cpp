#include "simulated/actors.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

namespace unisono::simulated {

namespace s4u = simgrid::s4u;

namespace {

/// SimGrid's engine, of which there can be one in a process, and as many nodes as a run may have:
/// none can be added after the first run.
class Engine {
public:
    static Engine& instance() {
        static Engine engine;
        return engine;
    }

    void run() { engine_.run(); }
    [[nodiscard]] s4u::Host* host(std::uint32_t node) const { return nodes_.at(node).host; }

    void set_network(Network const& network) {
        if (network == network_) return;
        network_ = network;
        for (auto const& node : nodes_)
            for (auto* const link : {node.link->get_link_up(), node.link->get_link_down()})
                link->set_bandwidth(network.bytes_per_s)->set_latency(latency_s());
    }

private:
    struct Node {
        s4u::Host* host;
        s4u::SplitDuplexLink* link;
    };

    Engine() {
        s4u::Engine::set_config("contexts/stack-size", 256);  // KiB
#ifdef __SANITIZE_ADDRESS__
        // It does not know of stacks that SimGrid switches itself.
        s4u::Engine::set_config("contexts/factory", std::string{"thread"});
#endif
        // Waits are a few microseconds long; the default takes all within 10 for the same moment.
        s4u::Engine::set_config("surf/precision", 1e-9);
        // Who stands where is told by this program's own report.
        xbt_log_control_set("root.thresh:critical");
        xbt_log_control_set("ker_engine.app:file:/dev/null");
        auto* const zone = s4u::create_star_zone("nodes");
        for (std::uint32_t node = 0; node < nodes_max; ++node) add_node(*zone);
        zone->seal();
    }

    void add_node(s4u::NetZone& zone) {
        auto const name = std::to_string(nodes_.size());
        auto* const link = zone.create_split_duplex_link("link" + name, network_.bytes_per_s);
        link->set_latency(latency_s());
        auto* const host = zone.create_host("node" + name, 1e9);
        zone.add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                       {{link, s4u::LinkInRoute::Direction::UP}}, true);
        nodes_.push_back({host, link});
    }

    /// A way goes through two links.
    [[nodiscard]] double latency_s() const { return network_.latency_s / 2; }

    int argument_count_ = 1;
    char name_[9] = "simulate";
    char* arguments_[2] = {name_, nullptr};
    s4u::Engine engine_{&argument_count_, arguments_};
    Network network_;
    std::vector<Node> nodes_;
};

class SimGridTransport final : public Transport {
public:
    explicit SimGridTransport(s4u::CommPtr comm) : comm_{std::move(comm)} {}
    void wait() override { comm_->wait(); }

private:
    s4u::CommPtr comm_;
};

}  // namespace

double now_s() { return s4u::Engine::get_clock(); }

struct Actors::Parking {
    s4u::SemaphorePtr woken = s4u::Semaphore::create(0);
    bool in_use = false;
};

Actors::Actors(std::vector<std::uint32_t> node_of, std::optional<Network> const& network)
    : node_of_{std::move(node_of)}, parkings_(node_of_.size()) {
    if (network)
        Engine::instance().set_network(*network);
    else
        std::ranges::fill(node_of_, 0);
}

Actors::~Actors() = default;

void Actors::run(std::function<void(std::uint32_t)> const& body) {
    auto& engine = Engine::instance();
    for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank)
        s4u::Actor::create("rank", engine.host(node_of_[rank]), [&body, rank] { body(rank); });
    engine.run();
}

void Actors::sleep(double seconds) {
    if (!unwinding_) s4u::this_actor::sleep_for(seconds);
}

void Actors::park(std::uint32_t rank) {
    if (unwinding_) return;
    auto& parking = parkings_[rank];
    parking.in_use = true;
    try {
        parking.woken->acquire();
    } catch (simgrid::ForcefulKillException const&) {
        unwinding_ = true;  // nobody can go on
        throw;
    }
}

bool Actors::park(std::uint32_t rank, double at_most_s) {
    if (unwinding_) return true;
    auto& parking = parkings_[rank];
    parking.in_use = true;
    auto const timed_out = parking.woken->acquire_timeout(at_most_s);
    // Woken in the very moment in which it gave up: the wake is not for its next wait.
    if (timed_out && !std::exchange(parking.in_use, false)) parking.woken->acquire();
    return !timed_out;
}

void Actors::wake(std::uint32_t rank) {
    if (unwinding_) return;
    auto& parking = parkings_[rank];
    if (std::exchange(parking.in_use, false)) parking.woken->release();
}

std::unique_ptr<Transport> Actors::carry(std::uint32_t from, std::uint32_t to,
                                         std::uint64_t bytes) {
    auto const& engine = Engine::instance();
    return std::make_unique<SimGridTransport>(
        s4u::Comm::sendto_async(engine.host(node_of_[from]), engine.host(node_of_[to]), bytes));
}

}  // namespace unisono::simulated
