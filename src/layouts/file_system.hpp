#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace unisono {

/// What is known of a file system without asking it for a layout.
struct FileSystemFacts {
    bool local = false;  ///< one node's own: its page cache is all there is, and may be mapped
    bool keeps_blocks =
        false;  ///< writing a page back does not move it: the next store needs no space
    bool page_cached = false;  ///< clients may write whole pages back: nodes must not share one
    bool grows_alone = false;  ///< writes that make a file longer go one at a time on each node
    std::uint32_t type = 0;    ///< as statfs() says
    std::uint64_t block_bytes = 0;  ///< preferred size of an access, likewise
};

/// Of a file there, by the type that statfs() gives and what fstat() says of it; nothing is known
/// of what is not a regular file or not on a file system in the table.
FileSystemFacts facts_of_file_system(std::uint32_t type, struct stat const& status);

/// The same for the file behind a descriptor. Errors: none. Cost: a system call.
FileSystemFacts file_system_facts(int descriptor, struct stat const& status);

/// For people, and to tell places with different speeds apart: type and source of the mount, e.g.
/// "ext4 /dev/sda1", "nfs4 server:/home". `mounts` stands in for /proc/self/mountinfo in tests.
/// Errors: "unknown file system". Cost: reads a few kilobytes.
std::string describe_file_system(int descriptor,
                                 std::string const& mounts = "/proc/self/mountinfo");

}  // namespace unisono
