#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backends/faster_way.hpp"
#include "unisono/backend.hpp"

namespace unisono {

/// How many bytes of the file have been there for so long that nobody can still be growing it to
/// them. Where a file grows, Linux zeroes the rest of its old last page (or larger folio) after the
/// new size can be seen; what another process has stored there through a mapping by then is lost
/// (ext4 on 6.18: 4 of 20,000 times, in a program made for it). Writes by system call wait for the
/// inode's lock. So only these bytes may be written through a mapping.
using MmapSafeBytes = std::shared_ptr<std::atomic<std::uint64_t>>;

/// A list of one piece shorter than this is left to `fallback` of a mapped backend.
constexpr std::uint64_t one_piece_mapped_bytes = 64 << 10;

/// Copies small pieces from and to a shared mapping of the file, which takes no system call per
/// piece; hands large or far-apart pieces to `fallback`, where one system call per piece is
/// cheaper. Large overwrites are copied to a mapping, too, where `writes` has seen that to be
/// faster than calls, which wait for the file's lock. Maps a few MiB at a time, so that memory
/// stays flat.
///
/// Writes beyond `mmap_safe_bytes` are done by `fallback`, and so is the rest of a list when a page
/// cannot be had: errors are those of system calls, with true counts.
///
/// `fd`: of a regular file on one node's own file system, open for reading and without O_APPEND,
/// O_DIRECT, O_SYNC and O_DSYNC; not owned, it must stay open as long as the backend lives.
/// `maps_writes`: it is open for writing, too, and writing a page back does not move it. Nobody may
/// truncate the file during an access (file_mapping.hpp says why).
std::unique_ptr<Backend> make_mapped_backend(
    int fd, std::unique_ptr<Backend> fallback, MmapSafeBytes mmap_safe_bytes,
    bool maps_writes = true, std::shared_ptr<FasterWay> writes = std::make_shared<FasterWay>());

}  // namespace unisono
