#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

struct ParsedFaults {
    std::vector<Fault> faults;
    std::string error;  ///< empty when the specification is valid, else says what would be
};

/// Reads a list of faults, separated by commas; D is `read` or `write`:
///   D@OFFSET=ERRNO   an access that touches file byte OFFSET transfers the bytes before it and
///                    fails with ERRNO, a name (ENOSPC) or a number; every time
///   D=short          transfers are cut into pieces at random, as a system may do at any time;
///                    the same cuts in every run
///   D=delay:US       each access waits US microseconds before it begins
///   sync=ERRNO       syncs fail once they are done, as close=ERRNO does for closing
/// Pure. An empty specification is no fault.
ParsedFaults parse_faults(std::string_view specification);

/// Wraps `inner`, so that accesses go wrong as specified. Null when the specification is invalid:
/// parse_faults says why. Cost: the delays, and for `short` several inner accesses for each one.
std::unique_ptr<Backend> make_fault_backend(std::unique_ptr<Backend> inner,
                                            std::string_view specification);

}  // namespace unisono
