#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "exchange/view_directory.hpp"
#include "execute/cached/block_exchange.hpp"
#include "execute/cached/block_memory.hpp"
#include "execute/cached/block_reader.hpp"
#include "execute/cached/deferred_writes.hpp"
#include "execute/cached/deposit_mail.hpp"
#include "execute/cached/last_calls.hpp"
#include "execute/cached/newer_bytes.hpp"
#include "execute/cached/own_end.hpp"
#include "execute/performed.hpp"
#include "unisono/plan.hpp"

namespace unisono {

/// Collective buffers of one open file that live across calls (Plan::Way::cached), and what a rank
/// has to know to keep MPI's consistency: its own writes are seen at once, those of others after a
/// sync or close, which drain.
///
/// On one node the buffers are shared memory: ranks scatter to them and gather from them. Ranks of
/// other nodes send packed data, no lists: the aggregators know their views. Independent calls look
/// into the buffers on one node; on several, each rank keeps its own undrained writes.
///
/// Calls that repeat need no meetings: after an agreed one a window of blocks is open for the next
/// ones, in which a rank copies its data to the buffers (deposit.cpp) or, on one node, from them
/// (withdrawal.cpp), until so many calls have been made that the ranks must agree anew. Where a
/// call was done by each rank for itself, so are those of the window: without buffers.
///
/// Errors of deferred writes are kept until take_error(); what could not be written is lost then.
/// Data calls may come from several threads, collective ones one at a time.
/// Memory: pool_bytes (and half of it for what is known of each byte) per aggregator, made as it is
/// needed; on several nodes each rank's share of as much again for its own writes.
class CachedFile {
public:
    /// All must outlive this. `number`: the file's, equal on all ranks.
    CachedFile(Team& team, Rendezvous& rendezvous, Storage const& storage,
               std::uint32_t number = 0);
    ~CachedFile();
    CachedFile(CachedFile const&) = delete;
    CachedFile& operator=(CachedFile const&) = delete;

    /// Something may be in buffers. Equal on all ranks where they have come to the same of their
    /// collective calls. Thread-safe.
    [[nodiscard]] bool in_use() const { return in_use_; }

    /// Some of it has been written to, so the file may lack something. Equal on all ranks.
    [[nodiscard]] bool holds_writes() const { return in_use_ && written_; }

    /// Somebody else is about to access the file for this rank. False when what it must see is
    /// still in memory; else what was read before is forgotten in time. Local.
    bool prepare_bypass();

    /// What this rank needs the call to do with the cache. Local.
    CacheNeeds needs(Request const& request, Options const& options, CallRecord const& record);

    /// Makes buffers for a call; drains first when they are of another kind. Collective; false on
    /// all ranks when there is no memory to be had.
    bool prepare(Facts const& facts, Plan const& plan, CallRecord& record);

    /// Performs a call that has been prepared. `write_through`: the file gets all that is dirty.
    /// Collective over the team; what it returns is as from perform_staged.
    Performed perform(Facts const& facts, bool write_through, Request const& request,
                      CallRecord& record);

    /// After the ranks have agreed on the call's outcome: starts to write, in the background, what
    /// is full or has been waiting for long. Local.
    void finish_call(Facts const& facts, CallRecord& record);
    /// An agreed call was done another way: it may still be one that others repeat. Local.
    void note_call(Request const& request, CallRecord const& record);

    /// After a call that repeats another one, as agreed, and went well: opens a window for the next
    /// ones. Collective.
    void open_window(Facts const& facts, CacheNeeds const& agreed, CallRecord& record);
    /// The same after a call that was done past the buffers, by each rank for itself; `choice`: of
    /// the tuner (OnlineTuner::add). Local.
    void open_direct_window(Facts const& facts, CacheNeeds const& agreed, std::uint64_t choice);
    /// The next collective call, if it goes this way, is done in the window. Equal on all ranks.
    [[nodiscard]] bool in_window(Direction direction) const {
        return direction == window_.direction && window_.calls_left > 0 &&
               !team_.deposits_stopped();
    }
    /// What is done in the window goes past the buffers. Equal on all ranks.
    [[nodiscard]] bool window_is_direct() const { return window_.direct; }
    [[nodiscard]] std::uint64_t window_choice() const { return window_.choice; }
    /// Ranks may have written by themselves what others do not see yet.
    [[nodiscard]] bool writes_in_window() const {
        return window_.direct && window_.direction == Direction::write;
    }
    /// They have made calls in it. Equal on all ranks.
    [[nodiscard]] bool window_was_used() const { return window_.used; }
    /// All of this rank's calls in the window go on like the one before it. Local.
    [[nodiscard]] bool as_foreseen() const { return !misfit_; }
    /// Whoever calls it on one rank does so on all, at the same place among their calls.
    void end_window();
    /// There are new views on all ranks. Between nodes this drains what was written. Collective.
    void note_new_views();
    /// A call in the window begins: a deposit or withdrawal for each part of the rank's request.
    /// Local.
    void begin_in_window();
    /// The same for a call that goes past the buffers and on like the one before it, so that all
    /// that is left to do is to access `range`, and note_lost() where that fails. False: it is not
    /// such a call, and has not begun. Local.
    bool begin_directly(Direction direction, Extent range, double now_s);
    /// A part of a collective write that this rank has done alone: the others hear of its error
    /// later. Local.
    void note_lost(Request const& request, IoResult const& result);
    /// This rank's data go to the buffers, or to the file where they do not fit. Local: neither
    /// waits for other ranks nor tells them of errors before the next drain.
    IoResult deposit(Request const& request, CallRecord& record);
    /// This rank's data come from the buffers, for which the first rank that comes to a block reads
    /// all of it; or from the file where that does not help. Local: waits for others' reading of a
    /// block at most.
    IoResult withdraw(Request const& request, CallRecord& record);
    /// Makes the file as long as this rank's own deposits want it. Local.
    IoResult settle_size();
    /// The same before a collective read; a failure is one of the deposits.
    void begin_reading();

    /// Writes all that is dirty and forgets everything. Collective; free where no call since the
    /// last time was done through it.
    void drain(CallRecord& record);

    /// The first error of deferred writes so far, with the range that it hit; forgets it. Agreed by
    /// all ranks once drained.
    Verdict take_error();

    /// perform_direct for an independent call: sees this rank's deferred writes, and is not undone
    /// by them. Local.
    IoResult perform_independent(Request const& request, CallRecord& record);
    /// Nothing was in use when this rank began an independent call that has moved so many bytes
    /// past the buffers: if another thread's call uses them by now, and has read what a write has
    /// replaced, it is replaced there, too. Local.
    void renew(Request const& request, std::uint64_t bytes);
    /// This rank has done `done` of an independent call by another handle of the file: what it, or
    /// on one node any rank, has written here and not drained is read instead, or replaced. No
    /// other byte: nothing of what only the other handle accesses is kept. Local.
    void take_note_of(Request const& request, Positions done);

private:
    [[nodiscard]] bool several_nodes() const { return team_.topology().nodes() > 1; }
    // It may have to read them, or to write older ones of its own once more.
    [[nodiscard]] bool keeps_own_writes() {
        return several_nodes() && (!storage_.write_only || newer_.own().any_in_file());
    }

    // Agreed calls.
    bool reserve(BlockTable::Blocks blocks);
    void clear(std::span<BlockTable::Entry const> replaced, CallRecord& record);
    void begin(BlockCall& call);
    void barrier(CallRecord& record);
    IoResult read_missing(BlockTable::Blocks blocks, Extent asked);
    IoResult finish_write(Facts const& facts, bool write_through, Request const& request,
                          CallRecord& record);
    IoResult grow_file(Facts const& facts, Request const& request, CallRecord& record) const;
    // Dirty bytes reach the file after so many agreed calls, even if their block never fills.
    static constexpr std::uint64_t calls_dirty_usually = 16;
    void write_behind(CallRecord& record, std::uint64_t calls_dirty_at_most);
    void start_writes(CallRecord const& record, std::uint64_t calls_dirty_at_most);
    [[nodiscard]] DeferredWrites::Moment now(CallRecord const& record) const {
        return {.call = call_, .s = record.now_s()};
    }
    void meet_before_drain();
    void agree_on_errors();

    IoResult independent(Request const& request, Positions part, CallRecord& record);
    void keep_written(Request const& request, Positions done);

    // Calls in a window.
    void tell_others(Request const& request, IoResult const& result);
    void go_on_in_window();
    [[nodiscard]] std::uint64_t blocks_open(Direction direction) const;
    std::uint64_t earned_calls(bool misfit, std::uint64_t growth = 2);
    void leave_behind(Extent range, Direction direction, CallRecord& record);
    bool fits(Request const& request, Extent touched);
    IoResult move_directly(Request const& request, CallRecord& record);

    Team& team_;
    Rendezvous& rendezvous_;
    Storage const& storage_;
    std::mutex mutex_;  // guards what follows against independent calls of other threads
    std::atomic<bool> in_use_ = false;   // changed under the lock only
    std::atomic<bool> written_ = false;  // since the last drain; likewise
    bool wrote_alone_ = false;           // in direct windows, and the ranks have to agree on errors
    bool may_be_stale_ = false;  // this rank may have written what the buffers do not know of
    bool flush_online_ = true;
    std::uint64_t unsaved_bytes_most_ = 0;  // 0: no bound
    double unsaved_s_most_ = 0;
    std::uint64_t unsaved_elsewhere_ = 0;  // at most so many bytes, not in the last two windows
    std::uint64_t call_ = 0;
    bool written_through_ = false;
    BlockMemory memory_;
    DeferredWrites deferred_;
    ViewDirectory views_;
    NewerBytes newer_;
    BlockReader reader_;
    DepositMail mail_;
    OwnEnd own_end_;  // since the last drain
    LastCalls last_calls_;
    Verdict agreed_error_;  // of all ranks, up to the last drain

    struct Window {
        Direction direction = Direction::write;
        Extent range;  // where writes find their blocks
        std::uint64_t calls_left = 0;
        bool direct = false;  // and no blocks
        bool used = false;    // some calls were made in it
        std::uint64_t choice = 0;
    };
    Window window_;
    bool window_open_ = false;    // until all have said that their part is over
    bool misfit_ = false;         // of this rank's calls in the last window
    std::uint64_t window_calls_;  // that the next window may have at most
    struct Windows {              // first blocks
        std::uint64_t last_but_one = 0;
        std::uint64_t last = 0;
        std::uint64_t written_end = 0;  // offset: of their deposits
    };
    [[nodiscard]] std::uint64_t unsaved_with(std::optional<Windows> const& windows) const;
    [[nodiscard]] bool too_much_unsaved(std::optional<Windows> const& windows) const;
    void save();
    std::optional<Windows> windows_;  // that there were
};

}  // namespace unisono
