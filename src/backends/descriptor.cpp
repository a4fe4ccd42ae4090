#include "backends/descriptor.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace unisono {

// On 64-bit machines the kernel's structure is the C library's.
std::optional<struct stat> status_by_kernel(int descriptor) {
    static_assert(sizeof(long) == 8);
    struct stat of_library {};
    struct stat of_kernel {};
    auto const one_file =
        fstat(descriptor, &of_library) == 0 && syscall(SYS_fstat, descriptor, &of_kernel) == 0 &&
        of_library.st_dev == of_kernel.st_dev && of_library.st_ino == of_kernel.st_ino &&
        (of_library.st_mode & S_IFMT) == (of_kernel.st_mode & S_IFMT);
    return one_file ? std::optional{of_kernel} : std::nullopt;
}

}  // namespace unisono
