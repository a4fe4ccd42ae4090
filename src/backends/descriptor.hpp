#pragma once

namespace unisono {

/// The kernel knows this descriptor, and as the same file as the C library does. Preloaded clients
/// of file systems hand out numbers of their own, or numbers that the kernel has for another file,
/// and take over the C library's functions: for such a descriptor nothing works that does not go
/// through those (io_uring, mappings, ioctl, /proc/self/fd).
/// Errors: none. Cost: two system calls.
bool kernel_knows(int descriptor);

}  // namespace unisono
