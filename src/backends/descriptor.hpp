#pragma once

#include <sys/stat.h>

#include <optional>

namespace unisono {

/// What the kernel says of this descriptor, if it knows it as the same file as the C library does.
/// Preloaded clients of file systems hand out numbers of their own, or numbers that the kernel has
/// for another file, and take over the C library's functions: for such a descriptor nothing works
/// that does not go through those (io_uring, mappings, ioctl, /proc/self/fd).
/// Errors: none. Cost: two system calls.
std::optional<struct stat> status_by_kernel(int descriptor);

}  // namespace unisono
