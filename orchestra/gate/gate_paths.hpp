#pragma once

#include <sys/types.h>

#include <string>

namespace unisono::orchestra {

/// Where one gate is: what only its node daemon's user may write is apart from what processes
/// write.
struct GatePaths {
    std::string folder;  ///< its page, and "own" for the daemons alone
    std::string slots;   ///< a slot for each process that passes it
};

/// UNISONO_RUNTIME, for orchestras that keep to themselves; empty without.
std::string chosen_runtime();

/// The gate that `owner`'s node daemon keeps for one file system. It is in memory, so that nothing
/// is left of it after a crash of the machine: root's page in /run, where nobody else can be first,
/// the rest in /dev/shm; or all of it in `runtime`, if one is chosen.
GatePaths gate_paths(dev_t device, uid_t owner, std::string const& runtime = chosen_runtime());

/// Whether `path` is a folder, no link to one, and `owner`'s: in /dev/shm anybody can be first.
bool is_folder_of(uid_t owner, std::string const& path);

/// The page in a gate's folder.
std::string page_path(std::string const& folder);

/// Throws "`path`: `why`", or what errno says.
[[noreturn]] void fail_at(std::string const& path, char const* why = nullptr);

}  // namespace unisono::orchestra
