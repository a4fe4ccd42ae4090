#include "backends/range_locks.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <limits>

namespace unisono {
namespace {

int set_lock(int descriptor, int command, short type, Extent range) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(range.begin);
    lock.l_len = static_cast<off_t>(range.bytes());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    while (fcntl(descriptor, command, &lock) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

short type_for(Direction direction) { return direction == Direction::read ? F_RDLCK : F_WRLCK; }

}  // namespace

bool RangeLocks::work(Direction direction) const {
    constexpr auto beyond = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - 1;
    Extent const one{beyond, beyond + 1};
    auto const error = set_lock(descriptor_, F_OFD_SETLK, type_for(direction), one);
    if (error == 0) set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, one);
    return error == 0 || error == EAGAIN || error == EACCES;  // somebody else has it
}

RangeLocks::Held::Held(RangeLocks& locks, Direction direction, Extent range)
    : descriptor_{locks.descriptor_},
      range_{range},
      one_thread_{locks.mutex_},
      error_{range.empty() ? 0 : set_lock(descriptor_, F_OFD_SETLKW, type_for(direction), range)} {}

RangeLocks::Held::~Held() {
    if (error_ == 0 && !range_.empty()) set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, range_);
}

}  // namespace unisono
