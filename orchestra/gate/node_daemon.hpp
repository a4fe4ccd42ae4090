#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orchestra/gate/gate_paths.hpp"
#include "orchestra/gate/messages.hpp"
#include "orchestra/gate/page.hpp"
#include "orchestra/gate/slot.hpp"

namespace unisono::orchestra {

/// Makes the folders of a gate, for this user, on the file system of `path`: root's is for
/// everybody, another's for himself. Throws std::runtime_error, also if one is somebody else's.
GatePaths make_gate_paths(std::string const& path, std::string const& runtime = chosen_runtime());

/// The node daemon of one gate on one node, without its connection: page, and the processes' slots.
/// One at a time in a folder. Not thread-safe.
class NodeDaemon {
public:
    /// More processes than this are not heard: their slots are taken away, and nobody holds them.
    static constexpr std::size_t slots_max = 4096;
    /// The same for each user but the gate's own, who must not leave others without turns.
    static constexpr std::size_t slots_of_a_guest_max = 1024;
    static constexpr std::size_t programs_of_a_guest_max = 64;
    /// About so many events are collected at a time, from each user an equal part at most: they fit
    /// into the queue of a connection (wire::queue_bytes_max), whatever their numbers are.
    static constexpr std::size_t events_max = 24576;

    /// Throws std::runtime_error. What processes said before is not for this one.
    NodeDaemon(GatePaths paths, double capacity_bytes);
    NodeDaemon(NodeDaemon const&) = delete;
    NodeDaemon& operator=(NodeDaemon const&) = delete;
    ~NodeDaemon();

    /// False once somebody has taken its folders away: what is there now may be another's, so this
    /// one leaves it alone, and should end. Cost: a system call.
    [[nodiscard]] bool is_in_charge() const;

    /// Readable when a process may have taken a slot.
    [[nodiscard]] int slot_events() const { return watch_; }
    /// Looks for new slots.
    void take_new_slots();
    /// The same, and for those whose processes are gone.
    void look_at_slots();

    /// How many programs its processes belong to.
    [[nodiscard]] std::size_t programs() const;

    /// What was said since the last time, the oldest first; what is too much stays where it is, and
    /// comes first the next time.
    std::vector<NodeEvent> collect();
    /// From now on it is told once more which processes wait in an access.
    void tell_who_waits();
    /// An orchestrator does not know the processes yet: they are told of again.
    void introduce_all();

    /// Whose turn it is; from now on, for the lease.
    void tell(Turnover const& turn);
    /// Everyone may pass.
    void open_gate() { page_.tell({}); }
    /// The gate is gone: whoever was at it looks for another.
    void retire();

private:
    struct Known {
        std::uint32_t number = 0;
        std::string program;
        std::unique_ptr<SlotReader> reader;
    };

    using Slots = std::map<std::string, Known>;

    std::vector<NodeEvent> take_said();
    std::vector<Slots::iterator> slots_in_turn();
    [[nodiscard]] std::size_t events_of_an_owner_max() const;
    void do_without_watch();
    void take_all_slots();
    void take_slot(std::string const& name);
    [[nodiscard]] bool has_room_for(SlotReader const& slot) const;
    void drop_slot(Slots::iterator slot);

    GatePaths paths_;
    int lock_ = -1;
    int watch_ = -1;
    Page page_;
    std::uint32_t next_number_ = 1;
    Slots slots_;                  // by file name
    std::string first_;            // the next time it is the first one's turn
    std::vector<NodeEvent> news_;  // of slots that come, wait and go
};

}  // namespace unisono::orchestra
