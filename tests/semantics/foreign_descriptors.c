// Stands for a file system's client that is preloaded and hands out descriptors that the kernel
// does not know: 0x20000000 more than its own, for files below the folder UNISONO_TEST_FOREIGN.
// What comes through the C library works with them; system calls, io_uring and mappings do not.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { foreign_begin = 0x20000000 };

static int kernels(int fd) { return fd >= foreign_begin ? fd - foreign_begin : fd; }

static int handed_out(char const* path, int fd) {
    char const* folder = getenv("UNISONO_TEST_FOREIGN");
    int const ours = folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
    return fd >= 0 && ours ? fd + foreign_begin : fd;
}

#define OPEN(name)                                                       \
    EXPORT int name(char const* path, int flags, ...) {                  \
        va_list more;                                                    \
        va_start(more, flags);                                           \
        int const mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0; \
        va_end(more);                                                    \
        int (*next)(char const*, int, ...) = dlsym(RTLD_NEXT, #name);    \
        return handed_out(path, next(path, flags, mode));                \
    }
OPEN(open)
OPEN(open64)

#define TAKE(result, name, parameters, arguments)         \
    EXPORT result name parameters {                       \
        static result(*next) parameters;                  \
        if (next == NULL) next = dlsym(RTLD_NEXT, #name); \
        return next arguments;                            \
    }
TAKE(int, close, (int fd), (kernels(fd)))
TAKE(int, fsync, (int fd), (kernels(fd)))
TAKE(int, fdatasync, (int fd), (kernels(fd)))
TAKE(int, fstat, (int fd, struct stat* status), (kernels(fd), status))
TAKE(int, fstat64, (int fd, struct stat64* status), (kernels(fd), status))
TAKE(int, ftruncate, (int fd, off_t bytes), (kernels(fd), bytes))
TAKE(int, ftruncate64, (int fd, off64_t bytes), (kernels(fd), bytes))
TAKE(off_t, lseek, (int fd, off_t offset, int whence), (kernels(fd), offset, whence))
TAKE(off64_t, lseek64, (int fd, off64_t offset, int whence), (kernels(fd), offset, whence))
TAKE(ssize_t, read, (int fd, void* data, size_t bytes), (kernels(fd), data, bytes))
TAKE(ssize_t, write, (int fd, void const* data, size_t bytes), (kernels(fd), data, bytes))
TAKE(ssize_t, pread, (int fd, void* data, size_t bytes, off_t at), (kernels(fd), data, bytes, at))
TAKE(ssize_t, pread64, (int fd, void* data, size_t bytes, off64_t at),
     (kernels(fd), data, bytes, at))
TAKE(ssize_t, pwrite, (int fd, void const* data, size_t bytes, off_t at),
     (kernels(fd), data, bytes, at))
TAKE(ssize_t, pwrite64, (int fd, void const* data, size_t bytes, off64_t at),
     (kernels(fd), data, bytes, at))
TAKE(ssize_t, preadv, (int fd, struct iovec const* list, int count, off_t at),
     (kernels(fd), list, count, at))
TAKE(ssize_t, preadv64, (int fd, struct iovec const* list, int count, off64_t at),
     (kernels(fd), list, count, at))
TAKE(ssize_t, pwritev, (int fd, struct iovec const* list, int count, off_t at),
     (kernels(fd), list, count, at))
TAKE(ssize_t, pwritev64, (int fd, struct iovec const* list, int count, off64_t at),
     (kernels(fd), list, count, at))

// The third argument is a number or an address; both are passed in the same place.
#define CONTROL(name)                                         \
    EXPORT int name(int fd, int command, ...) {               \
        va_list more;                                         \
        va_start(more, command);                              \
        void* const argument = va_arg(more, void*);           \
        va_end(more);                                         \
        int (*next)(int, int, ...) = dlsym(RTLD_NEXT, #name); \
        return next(kernels(fd), command, argument);          \
    }
CONTROL(fcntl)
CONTROL(fcntl64)
