#pragma once

#include <cstdint>
#include <functional>

#include "pocketfs/clients.hpp"

namespace unisono::testbed {

/// Moves as many bytes as a request has between its client's node and a server over something real,
/// in place of the modelled link of the node. Thread-safe.
class Carrier {
public:
    enum class Way : std::uint8_t { to_server, to_client };
    using Done = std::function<void()>;

    virtual ~Carrier() = default;

    /// Whether carry() may be used for the client's node; otherwise its link is to be modelled.
    /// May take a moment when a node is asked about for the first time.
    virtual bool reach(Client const& client) = 0;

    /// Begins to move bytes; does not wait. `done` is called once, in any thread and maybe within
    /// this call: when the last byte has arrived, or when none ever will. Bytes of one node, server
    /// and way arrive in the order of the calls.
    virtual void carry(std::uint64_t node, std::uint32_t server, Way way, std::uint64_t bytes,
                       Done done) = 0;
};

}  // namespace unisono::testbed
