#pragma once

#include <sys/stat.h>

namespace unisono {

/// False once the file behind it was taken away, or its folder with it. Cost: a system call.
inline bool has_name(int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace unisono
