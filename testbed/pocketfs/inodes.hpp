#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "pocketfs/striping.hpp"

namespace unisono::testbed {

/// Bytes of a file, of whatever descriptor; 0 where that cannot be found out.
std::uint64_t size_of(int fd);

/// A file of the backing folder that the kernel knows.
struct Inode {
    int fd = -1;  ///< O_PATH: names the file, whatever becomes of its path
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t lookups = 0;  ///< how often the kernel was told of it; guarded by Inodes

    std::mutex mutex;  ///< guards all below
    bool loaded = false;
    Striping striping;
    DiskMap map;
    std::optional<std::uint64_t> wanted_address;

    /// A path through which calls that take no O_PATH descriptor reach the file.
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
};

/// All inodes that the kernel knows. Thread-safe; an Inode stays until it is forgotten.
class Inodes {
public:
    Inodes() = default;
    Inodes(Inodes const&) = delete;
    Inodes& operator=(Inodes const&) = delete;
    ~Inodes();

    /// Takes the descriptor over, or closes it when the file is known. Counts one lookup.
    Inode& remember(int fd, struct stat const& attributes);

    /// @return the inode, no longer known, if that was the last lookup
    std::unique_ptr<Inode> forget(Inode& inode, std::uint64_t lookups);

private:
    std::mutex mutex_;
    std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Inode>> known_;
};

}  // namespace unisono::testbed
