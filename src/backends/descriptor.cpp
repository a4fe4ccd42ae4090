#include "backends/descriptor.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace unisono {

// On 64-bit machines the kernel's structure is the C library's.
bool kernel_knows(int descriptor) {
    static_assert(sizeof(long) == 8);
    struct stat of_library {};
    struct stat of_kernel {};
    return fstat(descriptor, &of_library) == 0 && syscall(SYS_fstat, descriptor, &of_kernel) == 0 &&
           of_library.st_dev == of_kernel.st_dev && of_library.st_ino == of_kernel.st_ino &&
           (of_library.st_mode & S_IFMT) == (of_kernel.st_mode & S_IFMT);
}

}  // namespace unisono
