#pragma once

#include <functional>

#include "execute/collective.hpp"

namespace unisono {

// Calls whose data are in memory that the CPU cannot access (Request::device): cut by positions
// into parts that fit a window of host memory, which the driver copies from or to.

/// How many parts a request makes. The window has Options::cb_buffer_size, by default 4 MiB.
std::uint64_t host_windows(Request const& request, Options const& options);

/// perform_collective as so many collective calls, equal on all ranks; those with ordinary memory
/// take part with their own. A rank that has reached the end of the file asks for nothing more; an
/// error ends the call. Collective: as perform_collective, and one more meeting.
/// When a part must go to the MPI library, the call must: writing or reading again does no harm.
Outcome perform_through_host(CollectiveFile const& file, Request const& request,
                             std::uint64_t windows, CallRecord& record);

/// The same for one rank alone: `perform` does each part. Local; as perform_direct.
IoResult perform_through_host(Request const& request, Options const& options, CallRecord& record,
                              std::function<IoResult(Request const&)> const& perform);

}  // namespace unisono
