#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "unisono/extent.hpp"
#include "unisono/result.hpp"

namespace unisono {

/// One extent of a list access: `bytes` bytes between file offset `offset` and `memory`.
struct Transfer {
    std::uint64_t offset = 0;
    std::byte* memory = nullptr;  ///< not written to by a write
    std::uint64_t bytes = 0;
};

/// How the extents of a list should reach the storage.
enum class Order : std::uint8_t {
    any,        ///< all at once where that is possible
    ascending,  ///< one after the other: they lie side by side on a server, with gaps in the file
};

/// An access under way. Destroying it waits for it.
class PendingIo {
public:
    virtual ~PendingIo() = default;
    /// Whether it has ended; never blocks. Where nobody can tell: true, and wait() may block.
    virtual bool ended() { return true; }
    /// Blocks until the access has ended; call once.
    virtual IoResult wait() = 0;
};

/// Moves lists of extents between memory and one open file. Thread-safe: several accesses may be
/// under way at once. Writes exactly the bytes of the list, never a byte between them.
class Backend {
public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;

    /// Performs a list in ascending, disjoint order and returns when it is done. Loops over short
    /// transfers and EINTR; stops at the first error, or at the end of the file when reading.
    /// Errors are local to the calling rank.
    virtual IoResult perform(Direction direction, std::span<Transfer const> list) = 0;

    /// Starts a list; memory and list must live until the returned access has been waited for.
    /// The default performs it at once.
    virtual std::unique_ptr<PendingIo> start(Direction direction, std::span<Transfer const> list,
                                             Order order = Order::any);

    /// start() returns while the access is still under way: what comes next costs no time.
    [[nodiscard]] virtual bool overlaps() const { return false; }

    /// Makes all that has been written to the file durable, whoever of this node wrote it through
    /// the kernel, and returns when it is. No access of this rank may be under way. A special file
    /// that keeps nothing has nothing to sync: no error. Errors are local to the calling rank.
    virtual Error sync() = 0;

    /// Lets go of what the backend itself has opened, and returns what that came to: some storage
    /// tells of failed writes there and only there. The last call. Local.
    virtual Error close() { return {}; }
};

}  // namespace unisono
