#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace unisono {

/// What /proc/PID/stat says.
struct ProcessStat {
    std::string name;  ///< at most 15 letters
    char state = 0;    ///< Z, X: only its remains are there
    int parent = 0;
    int session = 0;
    std::uint64_t began = 0;  ///< in ticks (sysconf(_SC_CLK_TCK) a second) since the machine did
};

/// Of the process that has this folder in /proc; nothing where there is none.
std::optional<ProcessStat> process_stat(std::string const& folder);

}  // namespace unisono
