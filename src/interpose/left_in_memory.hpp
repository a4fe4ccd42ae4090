#pragma once

#include <memory>
#include <vector>

#include "interpose/data_call.hpp"

namespace unisono::interpose {

// What collective calls have left in memory (CachedFile), by a handle and by others of its file.

/// Those of other handles that hold anything. Cost: none where the file is open once.
std::vector<std::shared_ptr<CachedFile>> caches_of_others(File const& file);

/// The handle's own ones hold data. All ranks alike.
bool has_data_in_blocks(File const& file);

/// This rank has begun an independent call while its handle's own ones held nothing, and has moved
/// so many bytes: what another thread's collective call holds by now is renewed. Local.
void renew_blocks(File const& file, Request const& request, std::uint64_t bytes);

/// This rank has moved so many bytes of an independent call: what other handles hold of them, also
/// since it has begun, is replaced, or read instead. Local.
void tell_other_handles(File const& file, Request const& request, std::uint64_t bytes);

/// False where the MPI library would not see what is in memory. Local.
bool prepare_bypass(File const& file);

/// A collective call that begins now does not see what others hold: MPI asks for a sync there. Says
/// so, on one rank, once.
void tell_of_writes_in_memory(File const& file, DataCall const& call);

}  // namespace unisono::interpose
