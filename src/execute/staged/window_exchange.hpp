#pragma once

#include <memory>

#include "execute/round_exchange.hpp"
#include "execute/staged/staged_call.hpp"

namespace unisono {

using WindowExchange = RoundExchange<Round>;

/// Straight between the user's memory and the window, one copy. Aggregators of this node.
std::unique_ptr<WindowExchange> make_shared_memory_exchange(StagedCall& call);

/// A rank sends an aggregator one packed message a round. Aggregators of other nodes, or of this
/// one where there is no shared memory.
std::unique_ptr<WindowExchange> make_message_exchange(StagedCall& call);

/// A node's ranks fill windows for other nodes' aggregators, too, and one of them sends what the
/// node has: one message for each node and aggregator, a copy and a meeting more.
std::unique_ptr<WindowExchange> make_node_aggregated_exchange(StagedCall& call);

}  // namespace unisono
