#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exchange/call_note.hpp"

namespace unisono {

/// What the numbers in tags stand for.
struct CallWords {
    std::function<std::string(std::uint16_t operation)> operation;
    std::function<std::string(std::uint32_t file)> file;
    /// After it a rank comes to no other call on its file.
    std::function<bool(std::uint16_t operation)> is_last;
};

/// A node's ranks, as one of them sees them.
struct NodeSeen {
    std::vector<CallSeen> calls;       ///< by rank on the node
    std::vector<std::uint32_t> ranks;  ///< who they are in the team; as many
    std::size_t me = 0;                ///< of them
    std::size_t node = 0;              ///< which one of so many
    std::size_t nodes = 1;
};

/// Notices that this rank is stuck in a collective call on a file. Looks now and then from outside,
/// so the call itself costs nothing. Not thread-safe; reads no clock.
class StallObserver {
public:
    enum class Finding : std::uint8_t {
        none,
        long_wait,  ///< this rank has waited for so long, and is the one to say so
        no_end      ///< the same, at once: somebody will never come
    };

    explicit StallObserver(std::uint32_t file) : file_{file} {}

    /// `slept_s` went by since the last look. Finds something once for each call: on the lowest
    /// rank of its node that waits in it, and not on every one of many nodes where all have come.
    Finding look(NodeSeen const& seen, double slept_s, double limit_s, CallWords const& words);

    [[nodiscard]] double waited_s() const { return waited_s_; }

private:
    std::uint32_t file_;
    CallSeen last_;
    double waited_s_ = 0;
    std::uint64_t told_ = 0;  // number of a call
};

/// Which ranks of the node are where, for people, without a newline.
std::string describe_stall(NodeSeen const& seen, double waited_s, CallWords const& words);

/// The same of ranks that met for calls that do not go together.
std::string describe_difference(Difference const& difference, CallWords const& words);

}  // namespace unisono
