#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "pocketfs/inodes.hpp"
#include "support/descriptor.hpp"

namespace unisono::testbed {

/// What files held when they were last synced, so that a power cut can bring it back: bytes and
/// sizes. Names, owners and modes are not looked after: they are as if always synced. Thread-safe:
/// changes, syncs and cuts come one after another, each as a whole. Errors are errno values, 0 is
/// success.
class SyncedStates {
public:
    /// Copies are kept in unlinked files of this folder, the one of the files' own file system.
    explicit SyncedStates(std::string folder) : folder_(std::move(folder)) {}

    /// Makes a change to the bytes or the size of a file and returns what `make` returns. The first
    /// change after a sync copies the file before: O(its data), or a reflink where there are any.
    /// If that fails the change is not made.
    int change(Inode const& inode, std::function<int()> const& make);

    /// From now on a cut brings back what the file holds now. To be told when a file is gone, too.
    void synced(Inode const& inode);

    /// All files are as they were when they were last synced, also those that are open.
    int cut_power();

private:
    struct State {
        Descriptor file;  // it also keeps the inode number from being used again
        Descriptor copy;
    };

    int keep(Inode const& inode);

    std::string folder_;
    std::mutex mutex_;
    std::map<std::pair<dev_t, ino_t>, State> unsynced_;
};

}  // namespace unisono::testbed
