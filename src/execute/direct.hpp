#pragma once

#include <optional>

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

/// The file's size; 0 where nobody can tell: then nothing counts as being there. Local.
std::uint64_t file_bytes_of(Storage const& storage);

/// What is to be told to other ranks, later, of a write of this rank's that came to `result`: an
/// error and what it hit, or nothing.
Verdict lost_in(Request const& request, IoResult const& result, std::uint32_t rank);

/// Where nodes write whole pages back, and may share one (`shared`), nobody else writes to the
/// pages of what this rank writes by itself, while this lives: from the first to the last byte.
/// What the lock's holder has written is at the server when it is given up, and who gets it reads
/// it anew.
class PageLock {
public:
    /// Waits for it as long as it takes. Local.
    PageLock(Request const& request, Storage const& storage, bool shared);
    /// Why there is none.
    [[nodiscard]] Error error() const;

private:
    Extent pages_;
    std::optional<RangeLocks::Held> held_;
};

}  // namespace unisono
