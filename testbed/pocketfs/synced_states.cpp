#include "pocketfs/synced_states.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "pocketfs/owner_rights.hpp"

namespace unisono::testbed {

namespace {

int copy_range(int from, int to, off_t begin, off_t end) {
    for (off_t at = begin; begin < end;) {
        auto const bytes = static_cast<std::size_t>(end - begin);
        auto const copied = copy_file_range(from, &begin, to, &at, bytes, 0);
        if (copied <= 0) return copied < 0 ? errno : EIO;
    }
    return 0;
}

// Holes stay holes: files of a terabyte may have a few bytes.
int copy_contents(int from, int to) {
    struct stat attributes {};
    if (fstat(from, &attributes) != 0 || ftruncate(to, 0) != 0 ||
        ftruncate(to, attributes.st_size) != 0)
        return errno;
    for (off_t end = 0;;) {
        auto const begin = lseek(from, end, SEEK_DATA);
        if (begin < 0) return errno == ENXIO ? 0 : errno;
        end = lseek(from, begin, SEEK_HOLE);
        if (end < 0) return errno;
        if (int const error = copy_range(from, to, begin, end)) return error;
    }
}

Descriptor open_unnamed(std::string const& folder) {
    auto path = folder + "/synced-XXXXXX";
    Descriptor made(mkostemp(path.data(), O_CLOEXEC));
    if (made.get() >= 0) unlink(path.c_str());
    return made;
}

}  // namespace

int SyncedStates::keep(Inode const& inode) {
    if (unsynced_.contains({inode.device, inode.number})) return 0;
    auto const path = inode.path();
    auto const open_it = [&] { return open(path.c_str(), O_RDWR | O_CLOEXEC); };
    State state{.file = Descriptor(with_owner_rights(path, open_it)),
                .copy = open_unnamed(folder_)};
    if (state.file.get() < 0 || state.copy.get() < 0) return errno;
    if (int const error = copy_contents(state.file.get(), state.copy.get())) return error;
    unsynced_.emplace(std::pair(inode.device, inode.number), std::move(state));
    return 0;
}

int SyncedStates::change(Inode const& inode, std::function<int()> const& make) {
    std::lock_guard const lock(mutex_);
    if (int const error = keep(inode)) return error;
    return make();
}

void SyncedStates::synced(Inode const& inode) {
    std::lock_guard const lock(mutex_);
    unsynced_.erase({inode.device, inode.number});
}

int SyncedStates::cut_power() {
    std::lock_guard const lock(mutex_);
    int first_error = 0;
    for (auto const& [key, state] : unsynced_) {
        int const error = copy_contents(state.copy.get(), state.file.get());
        if (first_error == 0) first_error = error;
    }
    unsynced_.clear();
    return first_error;
}

}  // namespace unisono::testbed
