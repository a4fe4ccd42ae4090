#pragma once

#include <memory>

#include "unisono/backend.hpp"

namespace unisono {

/// io_uring: one submission for a whole list, one operation per group of file-adjacent transfers.
/// start() returns while the kernel's own workers copy; when a list has more groups than the ring
/// has entries (128), the rest is submitted by wait(). The ring is made at the first access and
/// shared by all of them; threads that wait at the same time do so one after the other.
///
/// The operations of a list run side by side, unless start() is asked for order. When one fails,
/// `stopped_at` is the lowest offset that was not transferred and `bytes` counts what lies before
/// it; bytes behind it may have been transferred as well.
///
/// `instead` is the backend where the kernel or a seccomp profile forbids io_uring, now or later,
/// or when it is not compiled in; its name says so. It performs single transfers, too.
///
/// Does not own `fd`, which must stay open as long as the backend lives; the backend must outlive
/// its pending accesses. A child made by fork() cannot use it.
/// Cost: the first started list in a process probes with a small ring, and so does name().
std::unique_ptr<Backend> make_uring_backend(int fd, std::unique_ptr<Backend> instead);

}  // namespace unisono
