#pragma once

#include <cstdint>

#include "model/drive.hpp"

namespace unisono::testbed {

/// A command on its way to the drive, and on whose behalf.
struct BlockRequest {
    Command command;
    std::uint64_t context = 0;  ///< what the scheduler takes for a process
    bool synchronous = true;    ///< somebody waits: reads and flushes, not the write-out
    bool context_lives = true;  ///< it may send more
};

}  // namespace unisono::testbed
