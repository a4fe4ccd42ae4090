#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "orchestra/gate/messages.hpp"
#include "orchestra/server_gate.hpp"

namespace unisono::orchestra {

/// The gate for programs that are held on their own nodes: knows what their node daemons tell of
/// them, and says whose turn it is. Who is let in is for the nodes to see; what they say of it
/// comes later than it was. Has no clock, no thread and no connection. Not thread-safe.
class NodesGate {
public:
    explicit NodesGate(double capacity_bytes) : server_gate_(1, capacity_bytes) {}

    /// What the node daemon of `node` said, heard at `now`. What it says of slots and accesses that
    /// are not known is passed over. While everyone passes nodes tell it late, and not one after
    /// the other: then it counts a little later, when all have told what was before.
    void heard(std::uint64_t node, std::span<NodeEvent const> events, Time now);
    /// Its processes are not heard of any more.
    void lost(std::uint64_t node, Time now);

    /// A process that says nothing for a second, and is not said to wait in an access, is stopped,
    /// or has left an access alone until it needs it: it wants no turn for what it has under way.
    /// Where it is not seen whether it waits (another PID namespace), it may wait for its turn for
    /// lease_max: so much later it wants none for what was held.
    Report report(Time now);
    /// As of the slice scheduler, to which all is told first that was before the turns.
    bool adopt(Schedule schedule, Time now);
    [[nodiscard]] SliceScheduler& slice_scheduler() { return server_gate_.slice_scheduler(); }
    [[nodiscard]] SliceScheduler const& slice_scheduler() const {
        return server_gate_.slice_scheduler();
    }
    /// How the addresses of accesses are known, e.g. "layout"; with '+' if in several ways.
    [[nodiscard]] std::string locality() const;

private:
    /// An access that has not finished.
    struct Access {
        ServerRequest server_request;  // its program is the slot's
        bool waits = false;
        std::optional<AdmissionToken> admitted;
        bool given_up = false;  // it does not count as under way any more
    };
    struct Slot {
        std::string program;
        Time last_heard = 0;
        std::map<std::uint32_t, Access> accesses;  // by token
    };
    using SlotName = std::pair<std::uint64_t, std::uint32_t>;  // node, slot

    struct Heard {
        std::uint64_t node = 0;
        NodeEvent event;
    };

    void take(std::uint64_t node, NodeEvent const& event, Time now);
    [[nodiscard]] Time settled(Time now) const;
    void count_until(Time until);
    void count(Heard const& heard);
    void count(Slot& slot, NodeEvent const& event);
    void arrive(Slot& slot, NodeEvent const& event, Time when);
    void admit(Slot const& slot, Access& access, Time when);
    void abandon(Slot& slot, Time now);
    void give_up(Slot const& slot, Access& access, Time now);
    void give_up_silent_ones(Time now);

    ServerGate server_gate_;
    Time last_ = 0;
    std::map<std::uint64_t, Time> nodes_;  // when what each told last was
    std::multimap<Time, Heard> heard_;     // what does not count yet, by when it was
    std::map<SlotName, Slot> slots_;
    std::set<LocalityKind> localities_;
};

}  // namespace unisono::orchestra
