#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "unisono/backend.hpp"

namespace unisono {

/// One thing that goes wrong on purpose.
struct Fault {
    enum class Kind : std::uint8_t { error, short_transfers, delay, sync, close };

    Kind kind = Kind::error;
    Direction direction = Direction::write;  ///< not of sync and close
    std::uint64_t offset = 0;                ///< error: the file byte that cannot be accessed
    int code = 0;                            ///< error, sync, close: the errno
    std::uint64_t delay_us = 0;              ///< delay: microseconds before each access
};

/// Reads a list of faults, separated by commas; D is `read` or `write`:
///   D@OFFSET=ERRNO   an access that touches file byte OFFSET transfers the bytes before it and
///                    fails with ERRNO, a name (ENOSPC) or a number; every time
///   D=short          transfers are cut into pieces at random, as a system may do at any time;
///                    the same cuts in every run
///   D=delay:US       each access waits US microseconds before it begins
///   sync=ERRNO       syncs fail once they are done, as close=ERRNO does for closing
/// Pure. An empty specification is no fault. Nothing where it is invalid.
std::optional<std::vector<Fault>> parse_faults(std::string_view specification);

/// What it takes, for messages.
inline constexpr std::string_view valid_faults =
    "write@OFFSET=ERRNO (a name such as ENOSPC, or a number), write=short, "
    "write=delay:MICROSECONDS, "
    "the same with read, sync=ERRNO, close=ERRNO";

}  // namespace unisono
