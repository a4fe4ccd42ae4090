// Stands for NFS: the file system with the tests' files says that it is it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

static void say_nfs(char const* path, struct statfs* file_system) {
    if (strstr(path, "unisono-semantics") != NULL) file_system->f_type = NFS_SUPER_MAGIC;
}

__attribute__((visibility("default"))) int statfs(char const* path, struct statfs* file_system) {
    int (*next)(char const*, struct statfs*) =
        (int (*)(char const*, struct statfs*))dlsym(RTLD_NEXT, "statfs");
    int const result = next(path, file_system);
    if (result == 0) say_nfs(path, file_system);
    return result;
}

__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs* file_system) {
    int (*next)(int, struct statfs*) = (int (*)(int, struct statfs*))dlsym(RTLD_NEXT, "fstatfs");
    int const result = next(fd, file_system);
    char link[64], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (result == 0 && readlink(link, path, sizeof path - 1) > 0) say_nfs(path, file_system);
    return result;
}
