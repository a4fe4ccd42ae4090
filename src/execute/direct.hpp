#pragma once

#include "exchange/agreement.hpp"
#include "execute/request.hpp"

namespace unisono {

/// Performs a part of a rank's own request by itself: no other rank takes part. Serves the
/// independent strategy and the independent calls alike. Thread-safe.
///
/// @return bytes: data moved, all of it before the first that was not (in data order); stopped_at
///         and error as Backend::perform, or ENOMEM, or of fcntl where the storage has range locks.
///         Errors are local to this rank.
/// Memory: at most 1 MiB of scratch.
IoResult perform_direct(Request const& request, Positions part, Storage const& storage,
                        CallRecord& record);

/// What is to be told to other ranks, later, of a write of this rank's that came to `result`: an
/// error and what it hit, or nothing.
Verdict lost_in(Request const& request, IoResult const& result, std::uint32_t rank);

/// The whole pages of storage from the first to the last byte that a request touches. Where nodes
/// write whole pages back, a rank that writes by itself locks them.
Extent pages_of(Request const& request);

}  // namespace unisono
