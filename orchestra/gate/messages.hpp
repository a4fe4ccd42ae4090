#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/gate/slot.hpp"
#include "orchestra/slice_scheduler.hpp"

namespace unisono::orchestra {

// What node daemons and an orchestrator tell each other: lines of words, because there may be many.

/// While everyone passes, a node daemon tells so often what it has seen; else more often.
inline constexpr Time tell_period_max = 50 * millisecond;

/// A node daemon's first message.
struct NodeDaemonHello {
    std::string node;  ///< what people call it
};

/// Something that a node daemon has seen. Times go as ages, because clocks of nodes differ.
struct NodeEvent {
    enum class Kind : char {
        taken = 't',  ///< a process is there, of this program
        entered = 'e',
        held = 'h',
        released = 'r',
        finished = 'f',
        waits = 'w',  ///< the process is in an access, however long it says nothing
        left = 'l'    ///< the process is gone
    };
    Kind kind = Kind::entered;
    std::uint32_t slot = 0;
    std::string program;      ///< taken
    std::uint32_t token = 0;  ///< the other kinds as in SlotEvent
    Time age = 0;
    DiskAddress disk_address;
    std::uint64_t file = 0;
};

/// What an orchestrator tells node daemons: who passes, for how long if they hear nothing more.
struct Turnover {
    Admitted admitted;
    Time lease = 0;
    bool over = false;  ///< there is no gate any more
};

std::string show(NodeDaemonHello const& hello);
std::string show(std::span<NodeEvent const> events);
std::string show(Turnover const& turn);

/// Nothing for what is malformed, or means what cannot be: ids that are none, servers beyond
/// servers_max, leases beyond 10 s.
std::optional<NodeDaemonHello> parse_hello(std::string_view text);
std::optional<std::vector<NodeEvent>> parse_events(std::string_view text);
std::optional<Turnover> parse_turnover(std::string_view text);

}  // namespace unisono::orchestra
