#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "exchange/call_note.hpp"
#include "exchange/stall.hpp"
#include "interpose/mpi_team.hpp"
#include "unisono/options.hpp"

namespace unisono::interpose {

/// While it lives its file has a name in messages. If the options want that, somebody looks every
/// second or so whether this rank is stuck in a collective call on it, says so and may end the
/// program. By default that is the rank itself while it waits for others at a meeting: a guest has
/// no threads that nobody asked for. A rank may also be stuck in the MPI library or in a file
/// system: who wants to know of that, or to end it, gets a thread while such files are open.
class StallWatch {
public:
    /// `path` stays where it is.
    StallWatch(MpiTeam& team, MPI_Comm comm, std::uint32_t file, std::string const& path,
               Options const& options);
    ~StallWatch();
    StallWatch(StallWatch const&) = delete;
    StallWatch& operator=(StallWatch const&) = delete;

    struct Watched {
        enum class By : std::uint8_t { nobody, rank, thread };

        MpiTeam& team;
        MPI_Comm comm;
        std::uint32_t file;
        std::string const& path;
        double limit_s;
        By by;
        bool abort;
        StallObserver observer{file};
    };

private:
    Watched watched_;
};

/// Ends the thread, whatever files are still open. Before MPI_Finalize.
void end_stall_watch();

/// What there is to say of calls that do not go together, on files of the team.
std::string describe(CallsDiffer const& differ, MpiTeam const& team);

}  // namespace unisono::interpose
