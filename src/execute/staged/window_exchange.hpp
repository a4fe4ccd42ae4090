#pragma once

#include <memory>

#include "execute/staged/staged_call.hpp"

namespace unisono {

/// How data gets between ranks and one aggregator's window, within one round. There is one for the
/// aggregators with which this rank shares memory, and one for the others; both keep to one order:
///
///   writes   begin   put   deliver   collect                          (windows are full)
///   reads    begin   ask   request   collect_requests   (file I/O)    reply   fetch   take
///
/// put, ask and take are for each window that this rank may have data in; the others once a round.
/// All are local, but wait for the ranks whose data they need; who waits for whom goes in the order
/// above, so nobody waits for ever. File I/O may begin before collect_requests, where it does not
/// depend on them.
class WindowExchange {
public:
    WindowExchange() = default;
    WindowExchange(WindowExchange const&) = delete;
    WindowExchange& operator=(WindowExchange const&) = delete;
    virtual ~WindowExchange() = default;

    virtual void begin(Round const& /*round*/) {}
    virtual void put(Round const& round, std::size_t aggregator) = 0;
    virtual void deliver(Round const& /*round*/) {}
    virtual void collect(Round const& /*round*/) {}

    virtual void ask(Round const& round, std::size_t aggregator) = 0;
    virtual void request(Round const& /*round*/) {}
    virtual void collect_requests(Round const& /*round*/) {}
    virtual void reply(Round const& /*round*/) {}
    virtual void fetch(Round const& /*round*/) {}
    virtual void take(Round const& round, std::size_t aggregator) = 0;
};

/// Straight between the user's memory and the window, one copy. Aggregators of this node.
std::unique_ptr<WindowExchange> make_shared_memory_exchange(StagedCall& call);

/// A rank sends an aggregator one packed message a round. Aggregators of other nodes, or of this
/// one where there is no shared memory.
std::unique_ptr<WindowExchange> make_message_exchange(StagedCall& call);

/// A node's ranks leave what they have to say in memory that they share, and one of them sends it:
/// mostly one message for each node and aggregator, a copy and a meeting more.
std::unique_ptr<WindowExchange> make_node_aggregated_exchange(StagedCall& call);

}  // namespace unisono
