#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "exchange/call_note.hpp"
#include "exchange/stall.hpp"
#include "interpose/mpi_team.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// While it lives its file has a name in messages. If the options want that, a thread of the
/// process looks every second or so whether this rank is stuck in a collective call on it, says so
/// and may end the program. A thread, because a rank may be stuck in anything: a meeting, the MPI
/// library, a file system; and because the calls then need no clock.
class StallWatch {
public:
    StallWatch(MpiTeam& team, MPI_Comm comm, std::uint32_t file, std::string path,
               Options const& options);
    ~StallWatch();
    StallWatch(StallWatch const&) = delete;
    StallWatch& operator=(StallWatch const&) = delete;

    struct Watched;

private:
    std::unique_ptr<Watched> watched_;
};

/// Ends the thread; nothing is watched from then on. Before MPI_Finalize.
void end_stall_watch();

/// What there is to say of calls that do not go together, on files of the team.
std::string describe(CallsDiffer const& differ, MpiTeam const& team);

}  // namespace unisono::interpose
