#include "support/scarce_descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "support/descriptor.hpp"

namespace unisono {
namespace {

rlimit descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
}

// Before it was raised.
rlimit const& programs_limit() {
    static auto const limit = descriptor_limit();
    return limit;
}

void raise(rlimit limit) {
    constexpr rlim_t times = 4;  // the program's, the one that is moved, and a ring's
    limit.rlim_cur = std::min(times * limit.rlim_cur, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int out_of_the_way(int descriptor) {
    auto const& programs = programs_limit();
    if (descriptor < 0 || static_cast<rlim_t>(descriptor) < programs.rlim_cur / 2)
        return descriptor;
    if (auto const limit = descriptor_limit(); limit.rlim_cur == programs.rlim_cur) raise(limit);
    auto const moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(programs.rlim_cur));
    close(descriptor);
    if (moved < 0) errno = EMFILE;
    return moved;
}

void make_room_for_descriptors(std::size_t count) {
    programs_limit();
    std::vector<Descriptor> room;
    while (room.size() < count) {
        room.emplace_back(open("/", O_PATH | O_CLOEXEC));
        if (!room.back()) return raise(descriptor_limit());
    }
}

}  // namespace unisono
