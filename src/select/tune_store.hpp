#pragma once

#include <string>
#include <vector>

#include "select/tune_file.hpp"

namespace unisono {

/// Where records are kept; empty: nowhere.
struct TunePaths {
    std::string user;  ///< read and written
    std::string site;  ///< read, where the user's has nothing
};

/// UNISONO_TUNE, else $XDG_CACHE_HOME/unisono/tune.json, else $HOME/.cache/unisono/tune.json; and
/// UNISONO_TUNE_SITE, else PREFIX/etc/unisono-tune.json. UNISONO_TUNE=off: neither.
TunePaths tune_paths(Options const& options);

/// This machine, for TuningContext: processor and number of cores.
std::string describe_machine();

/// Lessons for so many ranks in this context (its storage key does not matter), the most
/// recent 200 at most; and what there is to complain of. Local to one rank.
///
/// A file counts only when it is a regular one that belongs to the user or to root, no others may
/// write to it, its group included, and it is no larger than 8 MiB. One that is not there is no
/// reason to complain. Cost: reads both files, some 100 us.
struct Recalled {
    Memory memory;
    std::vector<std::string> complaints;
};
Recalled recall(TunePaths const& paths, TuningContext const& context, std::uint32_t ranks);

/// The histories in a user's file; none where it is missing, damaged or not trusted. Local.
std::vector<FileHistory> recall_histories(std::string const& path);

/// Adds to the user's file. Returns a complaint, or nothing. Local to one rank.
///
/// Reads, merges, writes a file beside it and renames: readers see the old file or the new one,
/// also on NFS. There is no lock: when another job has renamed meanwhile, all is done again, three
/// times at most. What is lost in a race is some records, never the file. A file that is not
/// trusted, or cannot be understood, is left as it is. Cost: about a millisecond on a local file
/// system; a synced write.
std::string keep(std::string const& path, std::vector<TuningRecord> const& unsaved,
                 std::vector<FileHistory> const& histories = {});

}  // namespace unisono
