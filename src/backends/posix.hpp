#pragma once

#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// One preadv or pwritev (pread, pwrite) per group of file-adjacent transfers, in ascending order.
/// Does not own `fd`, which must stay open as long as the backend lives.
/// Cost: one system call per group (more than 1 GiB or IOV_MAX transfers: one for each such part).
std::unique_ptr<Backend> make_posix_backend(int fd);

}  // namespace unisono
