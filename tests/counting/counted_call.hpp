#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "execute/request.hpp"
#include "strategies/scene.hpp"

namespace unisono {

/// One list that a rank gave to its backend.
struct ListSeen {
    std::uint32_t rank = 0;
    std::vector<Extent> extents;
};

/// What a collective call did, on all ranks together.
struct CountedCall {
    std::uint64_t view_messages = 0;  ///< that the first such call sent, and this one did not
    std::string refusal;              ///< why the strategy could not do it; then the rest is empty
    std::vector<ListSeen> lists;      ///< in the order in which they came
    std::vector<CallRecord> records;
    /// What the team carried for it, as seen by what carried it.
    std::uint64_t messages = 0;
    std::uint64_t message_bytes = 0;
    std::uint64_t reductions = 0;

    /// What the ranks' own records say of that, summed.
    [[nodiscard]] std::uint64_t recorded(std::uint64_t Traffic::*value) const;
    [[nodiscard]] std::uint64_t file_bytes() const;
    [[nodiscard]] std::uint64_t extents() const;
    /// Lists that have something for a server: so many requests it gets.
    [[nodiscard]] std::vector<std::uint64_t> requests_by_server(Layout const& layout) const;
    /// How many ranks a server gets requests from.
    [[nodiscard]] std::vector<std::uint64_t> clients_by_server(Layout const& layout) const;
    /// Whether all accesses of each server's object came in strictly ascending order.
    [[nodiscard]] bool ascends_at_every_server(Layout const& layout) const;
};

/// Does the call twice and counts the second one, with what it leaves in memory: with threads as
/// ranks, nodes that talk by messages, and a file that only keeps account. `clock`: of its records.
CountedCall count_call(Scene const& scene, std::string const& strategy,
                       CallRecord::Clock clock = steady_clock_s);

/// A clock of this rank's that moves while it accesses the file, by 1 s for each list, and only
/// then.
double file_clock_s();

/// Data that has to go from one node to another: what ranks ask for of other nodes' realms.
/// `cell_bytes` divides all cuts between realms.
struct Crossing {
    std::uint64_t bytes = 0;
    std::uint64_t pairs = 0;  ///< rank and aggregator, of different nodes, that share data
};
Crossing crossing_bytes(Scene const& scene, Plan const& plan, std::uint64_t cell_bytes);

}  // namespace unisono
