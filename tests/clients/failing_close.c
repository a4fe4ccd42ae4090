/* To be preloaded: the first close() of the file that FAIL_CLOSE_OF names fails with EDQUOT, as
   where a file system has to say then that earlier writes came to nothing. It is closed all the
   same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_chosen(int fd) {
    char const* path = getenv("FAIL_CLOSE_OF");
    if (path == NULL) return 0;
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t const length = readlink(link, target, sizeof target - 1);
    if (length < 0) return 0;
    target[length] = '\0';
    return strcmp(path, target) == 0;
}

__attribute__((visibility("default"))) int close(int fd) {
    static int (*next)(int);
    if (next == NULL) next = (int (*)(int))dlsym(RTLD_NEXT, "close");
    int const chosen = is_chosen(fd);
    int const result = next(fd);
    if (!chosen) return result;
    unsetenv("FAIL_CLOSE_OF");
    errno = EDQUOT;
    return -1;
}
