#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "coordinate/entrance.hpp"
#include "coordinate/gate/messages.hpp"

namespace unisono::coordinate {

/// The entrance for programs that are held on their own nodes: knows what their agents tell of
/// them, and says whose turn it is. Who is let in is for the nodes to see; what they say of it
/// comes later than it was. Has no clock, no thread and no connection. Not thread-safe.
class NodesEntrance {
public:
    explicit NodesEntrance(double capacity_bytes) : entrance_(1, capacity_bytes) {}

    /// What the agent of `node` said, heard at `now`. What it says of seats and accesses that are
    /// not known is passed over.
    void heard(std::uint64_t node, std::span<NodeEvent const> events, Time now);
    /// Its processes are not heard of any more.
    void lost(std::uint64_t node, Time now);

    /// A process that says nothing for a second is stopped, or has left an access alone until it
    /// needs it: it wants no turn for what it has under way.
    Report report(Time now);
    [[nodiscard]] Turnstile& turnstile() { return entrance_.turnstile(); }
    [[nodiscard]] Turnstile const& turnstile() const { return entrance_.turnstile(); }
    /// How the places of accesses are known, e.g. "layout"; with '+' if in several ways.
    [[nodiscard]] std::string locality() const;

private:
    /// An access that has not finished.
    struct Access {
        Passage passage;  // its program is the seat's
        bool waits = false;
        std::optional<Ticket> admitted;
        bool given_up = false;  // it does not count as under way any more
    };
    struct Seat {
        std::string program;
        Time last_heard = 0;
        std::map<std::uint32_t, Access> accesses;  // by ticket
    };
    using SeatName = std::pair<std::uint64_t, std::uint32_t>;  // node, seat

    void arrive(Seat& seat, NodeEvent const& event, Time when);
    void admit(Seat const& seat, Access& access, Time when);
    void abandon(Seat const& seat, Time now);
    void give_up_silent_ones(Time now);

    Entrance entrance_;
    Time last_ = 0;
    std::map<SeatName, Seat> seats_;
    std::set<LocalityKind> localities_;
};

}  // namespace unisono::coordinate
