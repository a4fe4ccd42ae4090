#pragma once

#include <atomic>

#include "execute/request.hpp"
#include "interpose/context.hpp"

namespace unisono::interpose {

/// The failure of the first rank that had one, on every rank. Collective; one meeting.
Verdict first_of_all(Rendezvous* at, Verdict const& mine);

/// What was written to an open file since its last sync, and what that came to.
class Durability {
public:
    /// Both must outlive this.
    Durability(Context const& context, Storage const& storage, bool read_only)
        : context_{context}, storage_{storage}, read_only_{read_only} {}

    /// Something was written to the file, or its size was changed, and has to be synced: unless
    /// that was refused, as on all files that may not be written. After a call that single ranks
    /// make: another thread's sync may come meanwhile. Local.
    void note_written() { (storage_.backend != nullptr ? written_ : native_wrote_) = !read_only_; }
    /// The MPI library may have written to it by itself. The same.
    void note_native() { native_wrote_ = !read_only_; }
    /// This rank has, through Unisono.
    [[nodiscard]] bool wrote() const { return written_; }

    struct Synced {
        Verdict verdict;
        bool native = false;  ///< the MPI library has something to sync, too
    };
    /// Makes durable what was written through Unisono, once it is in the file, which came to
    /// `settled` on all ranks: one rank of each node syncs, or each one that has written where what
    /// they write does not meet in the kernel. Collective; the outcome is agreed by all ranks,
    /// which meet there (null: there is one only). Cost: one meeting when nothing was written since
    /// the last time, two else. After a failure the next one fails, too, unless something was
    /// written since: Linux takes for clean what it could not write, and would call it synced.
    Synced sync(Verdict const& settled, Rendezvous* at, int kernel_descriptor, bool by_mpi);
    /// The MPI library's own sync, which has its turn after that, has failed. Local.
    void note_failed_native_sync();

    /// An earlier failure of all ranks, or else this rank's. Local.
    [[nodiscard]] Verdict first_failure(Verdict const& earlier, Error const& error) const;

private:
    Context const& context_;
    Storage const& storage_;
    bool read_only_;
    std::atomic<bool> written_ = false;       // since the last sync, on this rank
    std::atomic<bool> native_wrote_ = false;  // perhaps; the same
    Verdict failed_sync_;                     // the last sync, on this rank
};

}  // namespace unisono::interpose
