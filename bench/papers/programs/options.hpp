#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

namespace bench::papers {

/// How a process asks for what one call is for.
enum class Way {
    collective,   ///< one collective call
    independent,  ///< one independent call, through the same view
    pieces,       ///< an independent call for each contiguous piece, without a view
};

/// How the buffer of a call lies in memory.
enum class Memory { contiguous, noncontiguous };

struct Options {
    std::string path;
    bool write = false;  ///< neither of the two: first write, then read
    bool read = false;
    bool after_write = false;  ///< read what was written through the same open file
    bool warm_up = false;      ///< write and read everything once before, untimed
    bool prepare = false;      ///< only make sure that there is a file to read
    Way way = Way::collective;
    Memory memory = Memory::contiguous;
    bool barrier = false;        ///< after each call
    bool sync = false;           ///< MPI_File_sync after the last call, within the time
    bool sync_calls = false;     ///< MPI_File_sync after each call of a write
    bool verify = false;         ///< the contents; the time then contains it
    bool call_seconds = false;   ///< report each call's time
    bool realtime = false;       ///< go before everything else on this machine
    double compute_seconds = 0;  ///< sleep after each call
    double run_seconds = 0;      ///< from the beginning again until so long; 0: once
    std::uint64_t calls = 0;     ///< from the beginning again until so many; 0: once
    std::string begin_when;      ///< file that says when to begin; none: at once
    std::vector<std::pair<std::string, std::string>> hints;
    std::uint64_t message_bytes = 0;  ///< of alltoall, for each pair of processes
};

struct Command {
    Program const* program = nullptr;  ///< none: alltoall
    Values values;
    Options options;
};

/// The command line's meaning; nothing if everything is said already (--help, --list, a mistake):
/// `exit_code` is the program's then. Talks to the user only on the rank that `may_print`.
std::optional<Command> parse(int argument_count, char** arguments, bool may_print, int& exit_code);

}  // namespace bench::papers
