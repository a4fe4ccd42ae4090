#pragma once

#include <sys/types.h>

#include <string>

namespace unisono::coordinate {

/// Where the gates of a machine are: in memory, so that nothing is left of them after a crash of
/// it; or where UNISONO_RUNTIME says, for orchestras that keep to themselves.
std::string runtime_folder();

/// The folder of the gate that `owner`'s agent keeps for one file system: its page, and a seat for
/// each process that passes it.
std::string gate_folder(dev_t device, uid_t owner, std::string const& runtime = runtime_folder());

/// The page in such a folder.
std::string page_path(std::string const& folder);

}  // namespace unisono::coordinate
