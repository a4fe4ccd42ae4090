/* To be preloaded: storage that is slow for as long as a test wants. Writes wait until the file
   that HELD_WRITES_UNTIL names has something in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void wait_for_something(void) {
    char const* const until = getenv("HELD_WRITES_UNTIL");
    struct stat status;
    while (until != NULL && (stat(until, &status) != 0 || status.st_size == 0)) usleep(10000);
}

#define HELD(name, arguments, ...)                                          \
    __attribute__((visibility("default"))) ssize_t name arguments {         \
        wait_for_something();                                               \
        return ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))(__VA_ARGS__); \
    }
HELD(pwrite, (int fd, void const* data, size_t bytes, off_t offset), fd, data, bytes, offset)
HELD(pwrite64, (int fd, void const* data, size_t bytes, off64_t offset), fd, data, bytes, offset)
HELD(pwritev, (int fd, struct iovec const* list, int count, off_t offset), fd, list, count, offset)
HELD(pwritev64, (int fd, struct iovec const* list, int count, off64_t offset), fd, list, count,
     offset)
