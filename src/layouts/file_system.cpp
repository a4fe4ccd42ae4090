#include "layouts/file_system.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstdint>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

namespace unisono {
namespace {

struct Known {
    std::uint32_t magic;
    FileSystemFacts facts;
};

// Elsewhere other machines may write the same file, or nobody has tried. Overlays count as copying
// on write because what is below them is not known.
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
};

}  // namespace

FileSystemFacts file_system_facts(int descriptor) {
    struct stat status {};
    struct statfs file_system {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (fstatfs(descriptor, &file_system) != 0) return {};
    for (auto const& known : known_file_systems)
        if (known.magic == static_cast<std::uint32_t>(file_system.f_type)) return known.facts;
    return {};
}

}  // namespace unisono
