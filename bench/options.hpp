#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

enum class Mode { fresh, overwrite, read, sync };

char const* name_of(Mode mode);

/// Where the user's data are. `gpu`: the calls get a GPU's memory; `gpu_copied`: they get pinned
/// memory of the host that the program copies from or to the GPU's, within the time.
enum class Memory { host, gpu, gpu_copied };

struct Options {
    std::vector<std::string> patterns;  ///< names; `all` stands for every one
    std::vector<Mode> modes{Mode::fresh};
    std::uint64_t bytes = 64u << 20;  ///< aimed at, all ranks together
    std::string path;                 ///< of the file to measure with; unlinked in the end
    int repeats = 5;
    double limit_seconds = 0;  ///< no further repeat after so much measured time; 0: no limit
    std::vector<std::pair<std::string, std::string>> hints;
    Memory memory = Memory::host;
    bool posix = false;       ///< the same bytes by contiguous pwrite / pread instead of MPI-IO
    bool write_only = false;  ///< what is written is open for nothing else
    std::optional<std::uint64_t> flip_offset;  ///< spoil this byte, to see that it is noticed
    bool help = false;
    bool list = false;
};

/// The command line's meaning. Throws std::invalid_argument with a line for the user.
Options parse_options(int argument_count, char const* const* arguments);

/// What --help prints.
char const* usage();

}  // namespace bench
