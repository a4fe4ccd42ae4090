#pragma once

#include <list>
#include <memory>
#include <string>

#include "gate.hpp"
#include "orchestra/gate/nodes_gate.hpp"
#include "orchestra/wire/listener.hpp"

namespace unisono {

/// The gate on the compute nodes: node daemons tell what their processes do, and are told whose
/// turn it is, at each change of turn and whenever the lease is renewed.
class ClientsGate final : public Gate {
public:
    /// Throws std::runtime_error.
    ClientsGate(orchestra::wire::Address const& address, std::string const& key_file,
                double capacity_bytes);
    /// Node daemons are told that it is over.
    ~ClientsGate() override;

    std::optional<orchestra::Report> report() override;
    int send(orchestra::Schedule const& schedule) override;
    void wait(orchestra::Time time) override;
    void describe(orchestra::Status& status) const override;

private:
    struct NodeDaemon {
        std::uint64_t number = 0;
        std::unique_ptr<orchestra::wire::Connection> connection;
        std::string node;  // empty until it has said so
    };

    void wait_for_messages(orchestra::Time until);
    void let_in();
    void tell_of_refusals();
    bool hear(NodeDaemon& daemon);
    bool understand(NodeDaemon& daemon, std::string const& message);
    void drop(std::list<NodeDaemon>::iterator daemon);
    void tell(NodeDaemon& daemon);
    void tell_all();

    orchestra::wire::Listener listener_;
    orchestra::NodesGate server_gate_;
    orchestra::Time lease_end_ = 0;
    std::uint64_t next_number_ = 1;
    std::list<NodeDaemon> daemons_;
    bool nodes_are_others_ = false;  // since it waits
    std::string told_;               // of refusals
    orchestra::Time next_told_ = 0;
};

}  // namespace unisono
