#include "interpose/durability.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "backends/posix.hpp"

namespace unisono::interpose {

Verdict first_of_all(Rendezvous* at, Verdict const& mine) {
    FirstFailure all{mine};
    if (at != nullptr) at->meet(all);
    return all.verdict;
}

Verdict Durability::first_failure(Verdict const& earlier, Error const& error) const {
    if (earlier.code != 0) return earlier;
    return {IoResult{.error = error}, static_cast<std::uint32_t>(context_.rank())};
}

Durability::Synced Durability::sync(Verdict const& settled, Rendezvous* at, int kernel_descriptor,
                                    bool by_mpi) {
    auto const wrote = written_.exchange(false);
    struct stat status {};
    // Elsewhere each rank may have a cache of its own.
    auto const alone = by_mpi || fstat(kernel_descriptor, &status) != 0;
    SyncNotice all{.wrote = wrote,
                   .native_wrote = native_wrote_.exchange(false),
                   .failed = settled.code != 0 || failed_sync_.code != 0,
                   .alone = alone,
                   .least_device = status.st_dev,
                   .least_inode = status.st_ino};
    if (at != nullptr) at->meet(all);
    Synced synced{.verdict = settled, .native = all.native_wrote};
    auto const earlier = std::exchange(failed_sync_, {});
    if (!all.wrote) {
        if (!synced.native) {
            failed_sync_ = earlier;
            if (settled.code == 0) synced.verdict = earlier;
        }
        if (all.failed) synced.verdict = first_of_all(at, synced.verdict);
        return synced;
    }
    Error error;
    auto const syncs = all.one_file() ? context_.leads_its_machine() : wrote || earlier.code != 0;
    if (syncs) error = storage_.backend->sync();
    // ROMIO syncs what this handle has written, and no size that the program's own one was given.
    if (by_mpi && wrote && !error && kernel_descriptor >= 0)
        error = make_posix_backend(kernel_descriptor)->sync();
    if (error) failed_sync_ = first_failure({}, error);
    synced.verdict = first_of_all(at, first_failure(settled, error));
    return synced;
}

void Durability::note_failed_native_sync() {
    failed_sync_ = first_failure({}, {EIO, "the MPI library's sync", Error::whole_file});
}

}  // namespace unisono::interpose
