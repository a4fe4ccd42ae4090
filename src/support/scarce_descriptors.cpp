#include "support/scarce_descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace unisono {
namespace {

rlimit descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
}

}  // namespace

int out_of_the_way(int descriptor) {
    static auto const programs = descriptor_limit();
    if (descriptor < 0 || static_cast<rlim_t>(descriptor) < programs.rlim_cur / 2)
        return descriptor;
    auto limit = descriptor_limit();
    constexpr rlim_t times = 4;  // the program's, the one that is moved, and a ring's
    if (limit.rlim_cur == programs.rlim_cur) {
        limit.rlim_cur = std::min(times * programs.rlim_cur, limit.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    auto const moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(programs.rlim_cur));
    close(descriptor);
    if (moved < 0) errno = EMFILE;
    return moved;
}

}  // namespace unisono
