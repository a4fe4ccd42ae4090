#include "layouts/file_system.hpp"

#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

namespace unisono {
namespace {

struct Known {
    std::uint32_t magic;
    FileSystemFacts facts;
};

// Elsewhere other machines may write the same file, or nobody has tried. Overlays count as
// copying on write because what is below them is not known.
constexpr Known known_file_systems[] = {
    {TMPFS_MAGIC, {true, true}},
    {RAMFS_MAGIC, {true, false}},
    {EXT4_SUPER_MAGIC, {true, true}},
    {XFS_SUPER_MAGIC, {true, true}},
    {F2FS_SUPER_MAGIC, {true, true}},
    {BTRFS_SUPER_MAGIC, {true, false}},
    {OVERLAYFS_SUPER_MAGIC, {true, false}},
    {NFS_SUPER_MAGIC, {.page_cached = true}},
    {SMB_SUPER_MAGIC, {.page_cached = true}},
    {CIFS_SUPER_MAGIC, {.page_cached = true}},
    {SMB2_SUPER_MAGIC, {.page_cached = true}},
    {V9FS_MAGIC, {.page_cached = true}},
    {FUSE_SUPER_MAGIC, {.grows_alone = true}},
};

}  // namespace

FileSystemFacts facts_of_file_system(std::uint32_t type, struct stat const& status) {
    if (!S_ISREG(status.st_mode)) return {};
    for (auto const& known : known_file_systems)
        if (known.magic == type) return known.facts;
    return {};
}

FileSystemFacts file_system_facts(int descriptor, struct stat const& status) {
    struct statfs file_system {};
    if (fstatfs(descriptor, &file_system) != 0) return {};
    auto const type = static_cast<std::uint32_t>(file_system.f_type);
    auto facts = facts_of_file_system(type, status);
    facts.type = type;
    facts.block_bytes = static_cast<std::uint64_t>(file_system.f_bsize);
    return facts;
}

// 36 35 98:0 /root /mount/point options [fields] - ext4 /dev/sda1 options
std::string describe_file_system(int descriptor, std::string const& mounts) {
    struct stat status {};
    auto const* const unknown = "unknown file system";
    if (fstat(descriptor, &status) != 0) return unknown;
    auto const device =
        std::to_string(major(status.st_dev)) + ':' + std::to_string(minor(status.st_dev));
    std::ifstream lines{mounts};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string id, parent, number, word, type, source;
        words >> id >> parent >> number;
        if (number != device) continue;
        while (words >> word && word != "-") {
        }
        if (words >> type >> source) return type.append(" ").append(source);
    }
    return unknown;
}

}  // namespace unisono
