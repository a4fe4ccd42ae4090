#include "pocketfs/inodes.hpp"

#include <unistd.h>

namespace unisono::testbed {

std::uint64_t size_of(int fd) {
    struct stat attributes {};
    return fstat(fd, &attributes) == 0 ? static_cast<std::uint64_t>(attributes.st_size) : 0;
}

Inodes::~Inodes() {
    for (auto const& [key, inode] : known_) close(inode->fd);
}

Inode& Inodes::remember(int fd, struct stat const& attributes) {
    std::lock_guard const lock(mutex_);
    auto& slot = known_[{attributes.st_dev, attributes.st_ino}];
    if (slot) {
        close(fd);
    } else {
        slot = std::make_unique<Inode>();
        slot->fd = fd;
        slot->device = attributes.st_dev;
        slot->number = attributes.st_ino;
    }
    ++slot->lookups;
    return *slot;
}

std::unique_ptr<Inode> Inodes::forget(Inode& inode, std::uint64_t lookups) {
    std::lock_guard const lock(mutex_);
    inode.lookups -= lookups;
    if (inode.lookups > 0) return nullptr;
    auto const found = known_.find({inode.device, inode.number});
    auto gone = std::move(found->second);
    known_.erase(found);
    return gone;
}

}  // namespace unisono::testbed
