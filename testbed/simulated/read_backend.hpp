#pragma once

#include <memory>

#include "simulated/simulated_team.hpp"
#include "unisono/backend.hpp"
#include "unisono/layout.hpp"

namespace unisono::simulated {

/// A client of modelled data servers (SimulatedTeams::serve_reads) has so much of one server in one
/// request at most. PVFS2: FlowBufferSizeBytes, 256 KiB unless set.
inline constexpr std::uint64_t client_request_bytes = 256 * 1024;

/// A backend for reads of a file that keeps nothing: they take the time that modelled servers and
/// links need, and go on while the rank does other things. What follows each other on a server is
/// one request, up to client_request_bytes; all requests of a list are under way at once, as those
/// of list I/O are. Writes are refused (std::logic_error).
std::unique_ptr<Backend> make_read_backend(SimulatedTeam& team, Layout layout);

}  // namespace unisono::simulated
