#pragma once

#include <list>
#include <memory>
#include <string>

#include "coordinate/gate/nodes_entrance.hpp"
#include "coordinate/wire/listener.hpp"
#include "gate.hpp"

namespace unisono {

/// The gate on the compute nodes: agents tell what their processes do, and are told whose turn it
/// is, at each change of turn and whenever the lease is renewed.
class ClientsGate final : public Gate {
public:
    /// Throws std::runtime_error.
    ClientsGate(coordinate::wire::Address const& address, coordinate::wire::Auth const& auth,
                double capacity_bytes);
    /// Agents are told that it is over.
    ~ClientsGate() override;

    std::optional<coordinate::Report> report() override;
    int send(coordinate::Schedule const& schedule) override;
    void wait(coordinate::Time time) override;
    void describe(coordinate::Status& status) const override;

private:
    struct Agent {
        std::uint64_t number = 0;
        std::unique_ptr<coordinate::wire::Connection> connection;
        std::string node;  // empty until it has said so
    };

    void wait_for_messages(coordinate::Time until);
    void let_in();
    bool hear(Agent& agent);
    bool understand(Agent& agent, std::string const& message);
    void drop(std::list<Agent>::iterator agent);
    void tell(Agent& agent);
    void tell_all();

    coordinate::wire::Listener listener_;
    coordinate::NodesEntrance entrance_;
    coordinate::Time lease_end_ = 0;
    std::uint64_t next_number_ = 1;
    std::list<Agent> agents_;
};

}  // namespace unisono
