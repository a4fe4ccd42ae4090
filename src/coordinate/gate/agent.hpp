#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinate/gate/messages.hpp"
#include "coordinate/gate/page.hpp"
#include "coordinate/gate/place.hpp"
#include "coordinate/gate/seat.hpp"

namespace unisono::coordinate {

/// Makes the folder of a gate, for this user, on the file system of `path`: root's is for
/// everybody, another's for himself. In it is a folder "own" for the daemons alone. Returns its
/// name. Throws std::runtime_error, also if the folder is somebody else's.
std::string make_gate_folder(std::string const& path,
                             std::string const& runtime = runtime_folder());

/// The agent of one gate on one node, without its connection: page, and the processes' seats.
/// One at a time in a folder. Not thread-safe.
class Agent {
public:
    /// More processes than this are not heard, and pass as those whose turn it is.
    static constexpr std::size_t seats_max = 4096;

    /// Throws std::runtime_error. What processes said before is not for this one.
    Agent(std::string folder, double capacity_bytes);
    Agent(Agent const&) = delete;
    Agent& operator=(Agent const&) = delete;
    ~Agent();

    /// Readable when a process may have taken a seat.
    [[nodiscard]] int seat_events() const { return watch_; }
    /// Looks for new seats, and for those whose processes are gone.
    void look_at_seats();

    /// How many programs its processes belong to.
    [[nodiscard]] std::size_t programs() const;

    /// What was said since the last time, the oldest first.
    std::vector<NodeEvent> collect();
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
        std::unique_ptr<SeatReader> reader;
    };

    void take_seat(std::string const& name);
    void drop_seat(std::map<std::string, Known>::iterator seat);

    std::string folder_;
    int lock_ = -1;
    int watch_ = -1;
    Page page_;
    std::uint32_t next_number_ = 1;
    std::map<std::string, Known> seats_;  // by file name
    std::vector<NodeEvent> news_;         // of seats that come and go
};

}  // namespace unisono::coordinate
