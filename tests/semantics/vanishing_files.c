// Stands for somebody who removes a file just after a program has opened it: a path with
// "vanishing" in it is gone as soon as it is opened once more, as Unisono does after the MPI
// library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define OPEN(name)                                                                       \
    __attribute__((visibility("default"))) int name(char const* path, int flags, ...) {  \
        va_list more;                                                                    \
        va_start(more, flags);                                                           \
        int const mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;                 \
        va_end(more);                                                                    \
        if ((flags & O_CLOEXEC) != 0 && strstr(path, "vanishing") != NULL) unlink(path); \
        int (*next)(char const*, int, ...) =                                             \
            (int (*)(char const*, int, ...))dlsym(RTLD_NEXT, #name);                     \
        return next(path, flags, mode);                                                  \
    }
OPEN(open)
OPEN(open64)
