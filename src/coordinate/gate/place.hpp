#pragma once

#include <sys/types.h>

#include <string>

namespace unisono::coordinate {

/// Where the gates of a machine are: memory, so that nothing is left of them after a crash of it.
inline constexpr char const* runtime_folder = "/dev/shm";

/// The folder of the gate that `owner`'s agent keeps for one file system: its page, and a seat for
/// each process that passes it.
std::string gate_folder(dev_t device, uid_t owner, std::string const& runtime = runtime_folder);

/// The page in such a folder.
std::string page_path(std::string const& folder);

}  // namespace unisono::coordinate
