#pragma once

#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// Copies small pieces from and to a shared mapping of the file, which takes no system call per
/// piece; hands large or far-apart pieces to `fallback`, where one system call per piece is
/// cheaper. Maps a few MiB at a time, so that memory stays flat.
///
/// Writes that grow the file: the last transfer of the list is written first, by `fallback`. When
/// that fails, or a page cannot be had, `fallback` does the rest of the list in order, so that
/// errors are those of system calls, with true counts. After such an error the file may already
/// have the size that the whole list would have given it.
///
/// Returns `fallback` itself when the file cannot be mapped safely or with the same meaning: not a
/// regular file, not on a file system that is known to be local, or opened write-only or with
/// O_APPEND, O_DIRECT, O_SYNC or O_DSYNC. Files opened read-only, and files on file systems that
/// copy on write, are mapped for reading only.
///
/// Does not own `fd`, which must stay open as long as the backend lives. Nobody may truncate the
/// file during an access (file_mapping.hpp says why).
std::unique_ptr<Backend> make_mapped_backend(int fd, std::unique_ptr<Backend> fallback);

}  // namespace unisono
