#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "execute/request.hpp"
#include "simulated/conditions.hpp"
#include "unisono/layout.hpp"
#include "unisono/options.hpp"

namespace unisono::simulated {

/// A mistake that is made on purpose, to see that it would be found.
enum class Canary : std::uint8_t {
    none,
    forgets_last_byte,  ///< of a request of more than 100 bytes
    leaves_when_empty,  ///< a rank that asks for nothing takes no part: the classic deadlock
    lets_messages_overtake,
};

/// "none", "forgets-last-byte", ...
std::string_view name_of(Canary canary);
std::vector<Canary> all_canaries();

/// Collective calls on one file, one after the other, and what the machine does meanwhile. A value:
/// runs of equal ones are equal, and a smaller one can be made of it.
struct Scenario {
    struct Call {
        Direction direction = Direction::write;
        Options options;
        std::vector<Request> requests;  ///< of each rank; where their memory is, the run says
        bool drain_after = false;       ///< as a sync would
    };

    std::vector<std::uint32_t> node_labels;  ///< of each rank
    Layout layout;
    std::uint64_t file_bytes = 0;  ///< before the first call
    std::vector<Call> calls;
    std::vector<bool> on_device;  ///< of each rank: whose memory the CPU cannot access
    Conditions conditions;
    Canary canary = Canary::none;

    [[nodiscard]] std::uint32_t ranks() const {
        return static_cast<std::uint32_t>(node_labels.size());
    }
};

/// Made up from the seed alone: topology, strategies and transports, views, delays, stalls, faults.
Scenario make_scenario(std::uint64_t seed, Canary canary = Canary::none);

/// For people, a line for each thing that is not as usual.
std::string show(Scenario const& scenario);

}  // namespace unisono::simulated
