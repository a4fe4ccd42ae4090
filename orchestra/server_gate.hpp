#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestra/locality.hpp"
#include "orchestra/phases.hpp"
#include "orchestra/program_files.hpp"
#include "orchestra/report.hpp"
#include "orchestra/slice_scheduler.hpp"

namespace unisono::orchestra {

/// What the gate must know of one server's part of a request.
struct ServerRequest {
    std::string_view program;
    std::uint32_t server = 0;
    std::optional<std::uint64_t> address;  ///< disk byte; a flush has none
    std::uint64_t bytes = 0;
    std::uint64_t file = 0;
};

/// What is left of a request when it was let in: finished() wants it back.
struct AdmissionToken {
    std::string program;
    std::uint64_t watch = 0;  ///< for who hands tokens out over several gates
    std::uint32_t server = 0;
    Locality::Done done;
};

/// Whose requests may enter a group of servers that take turns together, and what is known of all
/// of them: slice scheduler, locality per server, program-files. Told of every request and of the
/// time; has no clock, no thread and no queue of its own. Not thread-safe.
class ServerGate {
public:
    ServerGate(std::uint32_t servers, double capacity_bytes);

    /// There are more servers than was known, up to this one. Reports have all of them from now on.
    void make_room_for(std::uint32_t server) {
        if (server >= locality_.size()) locality_.resize(server + 1);
    }

    /// A request is here. False: it has to wait until admits() its program.
    bool arrived(ServerRequest const& server_request, Time now);
    [[nodiscard]] bool admits(std::string_view program) const {
        return slice_scheduler_.admits(program);
    }
    /// It enters its server. `waited`: arrived() has said no.
    AdmissionToken admit(ServerRequest const& server_request, bool waited, Time now);
    /// It, or a part of it, is sent to the server's disk. Without a program's name it is the one
    /// that used the file last.
    void on_disk(ServerRequest const& server_request, Time now);
    void finished(AdmissionToken const& token, Time now);

    [[nodiscard]] SliceScheduler& slice_scheduler() { return slice_scheduler_; }
    [[nodiscard]] SliceScheduler const& slice_scheduler() const { return slice_scheduler_; }

    /// Programs that wanted nothing for a minute are forgotten first; where there are too many, all
    /// that want nothing now.
    Report report(Time now);
    /// Nothing of what was before counts, but epochs go on, so that an old schedule cannot come
    /// back to life.
    void reset();

private:
    void forget_idle(Time now);
    [[nodiscard]] ProgramReport report_of(std::string const& program, Time now) const;

    double capacity_bytes_;
    SliceScheduler slice_scheduler_;
    std::vector<Locality> locality_;  // by server
    ProgramFiles files_;
    std::map<std::string, Phases, std::less<>> programs_;
};

}  // namespace unisono::orchestra
