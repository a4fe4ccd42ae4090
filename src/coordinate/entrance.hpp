#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinate/locality.hpp"
#include "coordinate/phases.hpp"
#include "coordinate/program_files.hpp"
#include "coordinate/report.hpp"
#include "coordinate/turnstile.hpp"

namespace unisono::coordinate {

/// What the entrance must know of one server's part of a request.
struct Passage {
    std::string_view program;
    std::uint32_t server = 0;
    std::optional<std::uint64_t> address;  ///< disk byte; a flush has none
    std::uint64_t bytes = 0;
    std::uint64_t file = 0;
};

/// What is left of a passage when it was let in: finished() wants it back.
struct Ticket {
    std::string program;
    std::uint64_t watch = 0;  ///< for who hands tickets out over several entrances
    std::uint32_t server = 0;
    std::uint64_t bytes = 0;
    Time admitted = 0;
};

/// Whose requests may enter a group of servers that take turns together, and what is known of all
/// of them: turnstile, locality per server, program-files. Told of every request and of the time;
/// has no clock, no thread and no queue of its own. Not thread-safe.
class Entrance {
public:
    Entrance(std::uint32_t servers, double capacity_bytes);

    /// There are more servers than was known, up to this one. Reports have all of them from now on.
    void make_room_for(std::uint32_t server) {
        if (server >= locality_.size()) locality_.resize(server + 1);
    }

    /// A request is here. False: it has to wait until admits() its program.
    bool arrived(Passage const& passage, Time now);
    [[nodiscard]] bool admits(std::string_view program) const { return turnstile_.admits(program); }
    /// It enters its server. `waited`: arrived() has said no.
    Ticket admit(Passage const& passage, bool waited, Time now);
    void finished(Ticket const& ticket, Time now);

    [[nodiscard]] Turnstile& turnstile() { return turnstile_; }
    [[nodiscard]] Turnstile const& turnstile() const { return turnstile_; }

    /// Programs that wanted nothing for a minute are forgotten first.
    Report report(Time now);
    /// Nothing of what was before counts, but epochs go on, so that an old schedule cannot come
    /// back to life.
    void begin_anew();

private:
    void forget_idle(Time now);
    [[nodiscard]] ProgramReport report_of(std::string const& program, Time now) const;

    double capacity_bytes_;
    Turnstile turnstile_;
    std::vector<Locality> locality_;  // by server
    ProgramFiles files_;
    std::map<std::string, Phases, std::less<>> programs_;
};

}  // namespace unisono::coordinate
