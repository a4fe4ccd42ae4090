#pragma once

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/choice.hpp"
#include "backends/counted.hpp"
#include "execute/collective.hpp"
#include "interpose/context.hpp"
#include "interpose/datatypes.hpp"
#include "interpose/durability.hpp"
#include "interpose/overlap_gain.hpp"
#include "interpose/shared_pointer.hpp"
#include "interpose/stall_watch.hpp"
#include "options/options.hpp"
#include "report/report.hpp"
#include "report/trace.hpp"
#include "support/hash.hpp"

namespace unisono::orchestra {
class FileGate;
}

namespace unisono::interpose {

/// A file view. Where Unisono keeps it back (`kept_back`), ranks set it without waiting for each
/// other, and the MPI library's own handle gets it at the next collective call that is passed on.
/// Else the handle has it (`mirrored`), unless that would take long or be dangerous (`costly` on
/// some rank).
struct FileView {
    Tiling tiling{make_dense(1), 0, 1};
    Tiling as_given{tiling};  ///< the same, of the program's own tiles
    std::uint64_t etype_bytes = 1;
    bool usable = true;   ///< Unisono can walk it; may differ between ranks
    bool costly = false;  ///< for the MPI library; may differ between ranks
    int refusal = 0;      ///< an MPI error class: it cannot be set; may differ between ranks
    /// Of data, as the program has named it; equal on all ranks.
    std::string representation = "native";
    /// Some rank's is not usable, or has a representation that Unisono does not know, where ranks
    /// have met for it; equal on all ranks.
    bool native_only = false;
    /// The MPI library has some rank's data elsewhere in the file, and wrongly; equal on all ranks.
    bool native_layout_differs = false;
    bool mirrored = true;
    /// Not mirrored; calls with the shared file pointer are Unisono's. Equal on all ranks.
    bool kept_back = false;
    MPI_Offset displacement = 0;
    MPI_Datatype etype = MPI_DATATYPE_NULL;  ///< Unisono's own, while not mirrored
    MPI_Datatype filetype = MPI_DATATYPE_NULL;

    FileView() = default;
    FileView(FileView const&) = delete;
    FileView& operator=(FileView const&) = delete;
    ~FileView();

    /// Data change on their way between memory and file.
    [[nodiscard]] bool external32() const { return is_named("external32"); }
    /// A representation that Unisono knows. "internal" is the same as "native", as MPI allows.
    [[nodiscard]] bool known_representation() const {
        return is_named("native") || is_named("internal") || external32();
    }
    /// What the MPI library is told: Open MPI 4.1.4 has no "internal".
    [[nodiscard]] char const* native_representation() const {
        return is_named("internal") ? "native" : representation.c_str();
    }

private:
    // Most calls ask, and most names differ in length.
    [[nodiscard]] bool is_named(std::string_view name) const { return name == representation; }
};

class NonblockingCalls;
struct PendingCall;

/// What Unisono keeps for one open MPI file, beside the MPI library's handle, which stays valid.
/// The descriptor is its own, opened at once: a path may be renamed or removed later.
/// Members stand by what they are about. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class File {
public:
    /// `comm`: the one that the program has opened it on.
    File(MPI_File handle, MPI_Comm comm, std::shared_ptr<Context> context, std::string path,
         int access_mode, std::shared_ptr<Options const> options);
    ~File();
    File(File const&) = delete;
    File& operator=(File const&) = delete;

    [[nodiscard]] MPI_File handle() const { return handle_; }
    [[nodiscard]] MPI_Comm opened_on() const { return opened_on_; }
    /// It is freed: its handle may become that of another one.
    void forget_communicator() { opened_on_ = MPI_COMM_NULL; }
    /// Grows from one file that this rank opens to the next.
    [[nodiscard]] std::uint64_t order() const { return order_; }
    /// The same on all ranks, and no other file's on its communicator.
    [[nodiscard]] std::uint32_t number() const { return number_; }
    /// The number of the collective call that begins now.
    std::uint64_t next_call() { return ++calls_; }
    [[nodiscard]] int access_mode() const { return access_mode_; }
    [[nodiscard]] Context& context() const { return *context_; }
    [[nodiscard]] std::shared_ptr<Context> const& shared_context() const { return context_; }
    [[nodiscard]] Options const& options() const { return *options_; }
    [[nodiscard]] Storage const& storage() const { return storage_; }
    /// The storage's descriptor, or -1 when it is not the kernel's but that of a preloaded client:
    /// for what does not go through the C library's functions.
    [[nodiscard]] int kernel_descriptor() const { return kernel_descriptor_; }
    [[nodiscard]] std::string const& path() const { return path_; }
    /// The name by which the MPI library can open it once more; none where that is not, or no
    /// longer, the file's.
    [[nodiscard]] std::optional<std::string> name_for_mpi() const;
    /// They are the same on disk, whatever their paths.
    [[nodiscard]] bool is_same_as(File const& other) const {
        return identity_ && identity_ == other.identity_;
    }
    /// Of one on a node's own file system: no other has it, there or on another node.
    [[nodiscard]] std::uint64_t local_identity() const;
    /// In the report, if it is not there yet.
    void note_once(std::string_view note);
    /// Ranks have opened others by the same name.
    void note_different_files();
    /// This rank has, or had, the file open twice at once.
    [[nodiscard]] bool is_open_again() const { return open_again_; }
    void note_open_again() { open_again_ = true; }
    [[nodiscard]] std::uint64_t path_hash() const { return path_hash_; }
    [[nodiscard]] MpiTeam& team() const;
    /// Where its ranks meet; null: there is one only.
    [[nodiscard]] Rendezvous* meeting_point() const {
        return context_->ranks() > 1 ? &team().rendezvous() : nullptr;
    }
    /// What all ranks have to say, merged into what this one says. Collective; one meeting.
    template <class Said>
    void meet(Said& said) {
        if (auto* const at = meeting_point()) at->meet(said);
    }
    /// Whether layout() waits for nobody. Equal on all ranks.
    [[nodiscard]] bool knows_layout() const { return layout_.has_value(); }
    /// Where the file's bytes are, as rank 0 sees it. Collective the first time and after use().
    Layout const& layout();
    /// Its unit, where it is that of a node's own file system and nobody needs to be told more: on
    /// rank 0. Else 0. Local.
    [[nodiscard]] std::uint64_t local_layout_unit() const;
    /// What rank 0 has said of it. At the same place among collective calls on all ranks.
    void use_local_layout(std::uint64_t unit);
    /// The same for a team that does without MPI: `from_rank_0` is collective over it.
    using FromRank0 = std::function<std::vector<std::byte>(std::vector<std::byte>)>;
    [[nodiscard]] Layout layout_by(FromRank0 const& from_rank_0);
    /// The same, as far as speeds depend on it: for OnlineTuner. Collective like layout(), and with
    /// a broadcast of its own where earlier runs are remembered.
    std::uint64_t storage_key();

    /// What its collective calls gathered.
    [[nodiscard]] GatheredFacts& gathered() { return gathered_; }
    /// Whether its next collective call may be done ahead of an agreement.
    [[nodiscard]] AheadOfAgreement& ahead() { return ahead_; }

    /// Gives a file that is still empty the striping of the hints, where the MPI library cannot.
    /// Local; what fails is in the report.
    void stripe();

    /// Options from now on; equal on all ranks. Drains, and makes the backend anew. Collective.
    void use(std::shared_ptr<Options const> options);

    /// While it lives, what single ranks' calls use stays: another thread's collective call may
    /// want to change it (use(), set_atomic()). Once in a thread, and not while anybody waits for
    /// other ranks. Whoever wants a change has it once the calls of this moment are over. Cost:
    /// none where one thread calls MPI.
    [[nodiscard]] std::shared_lock<std::shared_mutex> hold() const;

    /// Buffers that live across calls; none before the first collective call.
    [[nodiscard]] std::shared_ptr<CachedFile> cache() const;
    /// Makes them if they are not there; they take memory once they are used. Collective.
    std::shared_ptr<CachedFile> make_cache();
    /// Writes what they hold to the file and empties them. Collective; free when they are empty.
    void drain();
    /// CachedFile::note_new_views and end_window, if there are any.
    void note_new_views();
    void end_window();
    /// Collective calls may have left something in memory that the file lacks. Equal on all ranks.
    [[nodiscard]] bool holds_writes() const;
    /// Drains. The error of deferred writes since the last time, if any: agreed by all ranks.
    Verdict settle();
    /// The same, and the error is kept for the next time as well.
    Verdict settle_for_later();

    /// This rank could not write its part of a collective call that each did by itself: all ranks
    /// are told at the next sync or close. Local.
    void note_lost(Verdict const& verdict);

    [[nodiscard]] bool read_only() const { return (access_mode_ & MPI_MODE_RDONLY) != 0; }

    /// What was written to it has to be synced; sync() does. Local.
    [[nodiscard]] Durability& durability() { return durability_; }
    [[nodiscard]] BackendCounts const& io_counts() const { return *io_counts_; }

    /// Durability::sync, after a drain.
    Durability::Synced sync();
    /// The end of the file: drains, syncs if the hints ask for it, lets go of the file.
    /// Collective; the outcome is agreed by all ranks. Cost: one meeting.
    Durability::Synced close();

    [[nodiscard]] std::shared_ptr<FileView const> view() const;
    /// A view of all bytes from one on.
    struct PlainView {
        std::int64_t begin = 0;  ///< where that is in the file
        std::int64_t etype_bytes = 1;
        CachedFile* cache = nullptr;  ///< the file's, if it has one

        [[nodiscard]] MPI_Offset etypes_of(std::uint64_t bytes) const {
            return static_cast<MPI_Offset>(bytes) / etype_bytes;
        }
    };
    /// The view, if it is plain and Unisono does the data calls, of which no report is wanted, by
    /// this handle of the file alone and without locks. Local.
    [[nodiscard]] std::optional<PlainView> plain_view() const;
    /// Both pointers are at its start from now on. Collective, as set_shared_pointer is.
    void use(std::shared_ptr<FileView> view);
    void mark_mirrored();
    void mark_kept_back(bool kept_back);

    /// The individual file pointer, in etypes.
    [[nodiscard]] MPI_Offset pointer() const;
    void set_pointer(MPI_Offset etypes);
    /// Reserves a part of the file for a call that moves the pointer: returns it and advances it.
    MPI_Offset advance_pointer(MPI_Offset etypes);

    /// Whether views may be kept back, by what is known of all ranks since their last new view;
    /// nothing: they have to meet for that. Equal on all ranks.
    [[nodiscard]] std::optional<bool> keeps_views_back() const { return keeps_views_back_; }
    /// What this rank has to say about it: the first part, before the ranks meet. Local.
    void propose_to_keep_views_back(Notice& notice);
    /// The second part. Equal on all ranks.
    void learn_to_keep_views_back(Notice const& agreed);
    /// Unisono does the calls of single ranks with such a view, too, and nonblocking collective
    /// ones if there are any. Equal on all ranks.
    [[nodiscard]] bool may_keep_back(std::string const& representation) const;
    /// Of the view, which the MPI library does not know, once options are new. Collective.
    void keep_back_again();

    /// A new view was this rank's own affair, and was refused (an MPI error class), or not (0).
    void note_refused_view(int refusal) { refused_view_ = refusal; }
    [[nodiscard]] int refused_view() const { return refused_view_; }
    /// Hints came with a view that ranks have not met for: all take them at their next call.
    void put_hints_off() { has_new_hints_ = true; }
    [[nodiscard]] bool take_new_hints() { return std::exchange(has_new_hints_, false); }

    /// Nonblocking collective calls were made that are the MPI library's. Equal on all ranks.
    void note_native_nonblocking() { native_nonblocking_ = true; }
    [[nodiscard]] bool native_nonblocking() const { return native_nonblocking_; }

    /// The shared file pointer, while the MPI library does not know the view and hence cannot have
    /// it.
    [[nodiscard]] SharedPointer& shared_pointer() { return *shared_pointer_; }
    /// Where it is, once no rank moves it any more. Collective; one meeting.
    [[nodiscard]] MPI_Offset agreed_shared_pointer();
    /// It is there from now on, for calls that come after this one on any rank. Collective, but
    /// waits for others one time in many only.
    void set_shared_pointer(MPI_Offset etypes);
    /// The same on a rank whose new view was refused: it stays where it is.
    void keep_shared_pointer();
    /// Of all ranks' values, none of them negative. Collective; one meeting.
    MPI_Offset largest(MPI_Offset mine);

    /// The first half of a split call, for the second.
    struct SplitCall {
        std::uint16_t operation = 0;          ///< the number of its entry point
        std::shared_ptr<PendingCall> beside;  ///< done beside the program
        std::optional<std::uint64_t> bytes;   ///< that were moved; neither: the MPI library does it
        bool begun = true;                    ///< false: it failed, and may be left without an end
    };
    /// From its first half to its second one; else nothing.
    [[nodiscard]] std::optional<SplitCall>& split_call() { return split_call_; }

    /// Its nonblocking calls that are done beside the program; where NonblockingCalls::possible().
    NonblockingCalls& nonblocking();
    /// Which calls of this rank are to be done so.
    OverlapGain& overlap_gain() { return overlap_gain_; }
    /// Waits until none of them is on its way. Local; free where there was none.
    void finish_nonblocking();
    /// The same, and their threads end. All ranks do that at the same place among collective calls.
    /// Until the lock is let go nobody has a hold().
    std::unique_lock<std::shared_mutex> end_nonblocking();

    /// The file is accessed by the MPI library's own calls.
    [[nodiscard]] bool by_mpi() const { return by_mpi_; }

    /// Unisono can lock what it accesses. Local.
    [[nodiscard]] bool can_lock() const;
    /// Atomic mode or not; `by_locks`: Unisono does the data calls in it. Collective.
    void set_atomic(bool atomic, bool by_locks);
    [[nodiscard]] bool atomic() const { return atomic_; }
    /// The options for data calls: in atomic mode each rank accesses its own, under a lock.
    [[nodiscard]] Options const& call_options() const {
        return storage_.range_locks != nullptr ? *atomic_options_ : *options_;
    }
    /// Unisono does the data calls on this file; equal on all ranks.
    [[nodiscard]] bool taken_over() const {
        std::lock_guard const lock{mutex_};
        return taken_over(*view_);
    }
    [[nodiscard]] bool taken_over(FileView const& view) const {
        return (!atomic_ || storage_.range_locks != nullptr) && view.known_representation();
    }

    /// Why not, for a report.
    [[nodiscard]] char const* why_not_taken_over() const {
        return view()->known_representation() ? "atomic mode" : "data representation";
    }

    /// Hints of the program, latest value of each. For collective calls, which alone keep some.
    [[nodiscard]] std::vector<KeyValue> const& hints() const { return hints_; }
    void keep_hints(std::vector<KeyValue> const& latest);

    /// Of what only a report tells: stands still where none is wanted.
    [[nodiscard]] CallRecord::Clock clock_of_reports() const {
        return reported_ != nullptr ? steady_clock_s : [] { return 0.0; };
    }
    /// Adds to the report, when one is wanted.
    template <class Add>
    void record(Add&& add) {
        if (reported_ == nullptr) return;
        std::lock_guard const lock{mutex_};
        add(reported_->report);
        if (reported_->trace != nullptr && reported_->trace->due()) keep_trace();
    }
    /// Prints the report, on one rank; `unfinished`: why, if the file was not closed. Collective
    /// when a report is wanted.
    void finish_report(std::string const& unfinished = {});
    /// Before an error is told to the program: where the handler ends it, there will be no report
    /// but this rank's part now. Local.
    void report_if_fatal(std::string const& error);
    /// This file's calls of that class were examined: a report says how.
    void note_examined(Signature const& signature_class) {
        record([&](FileReport&) { reported_->examined.insert(signature_class); });
    }

private:
    /// What is kept where a report is wanted.
    struct Reported {
        FileReport report;
        std::optional<std::uint64_t> last_bytes;  ///< size of the file when it was closed
        std::unique_ptr<Trace> trace;             ///< rank 0's, where there is a place for it
        Layout layout_of_accesses;                ///< for the timeline
        std::string storage_text;                 ///< for the history of runs
        std::set<Signature> examined;             ///< classes of this file's calls
    };

    void open_storage();
    /// Whatever hints come later.
    void begin_report();
    /// Wherever the program's folder is later, and the same whatever name other ranks have for it.
    /// Cost: 3 us, so opens ask for it only between nodes, and where the MPI library opens it
    /// again.
    [[nodiscard]] std::string whole_path() const;
    void note_scarce_descriptors();
    /// Notes from now on what happens when.
    void keep_timeline();
    /// Notes from now on what collective calls ask for.
    void keep_calls();
    /// Lets the node's ranks see where this one is. Collective when the placement is new.
    void be_seen();
    /// Collective when the placement is new.
    [[nodiscard]] MpiTeam& team_for(Options const& options) const;
    void make_backend();
    void make_atomic_options();
    /// It stays where it is, and only collective calls move it from now on. All ranks do at the
    /// same place among collective calls, when none moves it.
    void give_back_shared_pointer();
    template <class... Place>
    void replace_shared_pointer(Place&&... place);
    Error close_storage();
    /// Has the buffers do something that no data call counts: their messages are in the report.
    template <class Do>
    void between_calls(Do&& what);
    /// For what threads of the program change. Cost: none where one thread calls MPI.
    [[nodiscard]] std::unique_lock<std::mutex> guard() const {
        return context_->threaded() ? std::unique_lock{mutex_} : std::unique_lock<std::mutex>{};
    }
    /// While it lives, nobody has a hold(), nor gets one.
    [[nodiscard]] std::unique_lock<std::shared_mutex> hold_alone() const;
    /// What the report needs of the storage before it is closed.
    void note_end();
    void keep_trace();
    /// What this rank has to report so far.
    [[nodiscard]] FileReport own_report() const;
    /// File system and layout.
    [[nodiscard]] std::string describe_place() const;
    [[nodiscard]] std::string describe_storage() const;
    void add_selections();

    MPI_File handle_;
    MPI_Comm opened_on_;
    std::shared_ptr<Context> context_;
    std::string path_;
    std::string whole_path_;  // when it was opened; empty: see whole_path()
    std::string driver_;      // of the MPI library's, and a colon; or empty
    std::uint64_t path_hash_ = hash64(path_);
    int access_mode_;
    std::shared_ptr<Options const> options_;         // mostly those of other files as well
    std::unique_ptr<Options const> atomic_options_;  // where there are range locks
    mutable std::atomic<MpiTeam*> team_ = nullptr;   // for these options
    mutable std::mutex team_mutex_;                  // guards the making of it
    std::uint64_t order_;
    std::uint32_t number_;
    std::uint64_t calls_ = 0;  // collective ones
    FileFacts facts_;
    Storage storage_;
    std::shared_ptr<orchestra::FileGate> gate_;  // as storage_ has it
    bool by_mpi_ = false;                        // the backend is the MPI library's own calls
    int kernel_descriptor_ = -1;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> identity_;  // device, inode
    std::atomic<bool> open_again_ = false;
    mutable std::shared_mutex held_;  // see hold()
    mutable std::mutex door_;         // to it; who waits there comes before those who come later
    mutable std::mutex mutex_;        // guards what follows
    std::shared_ptr<FileView> view_ = std::make_shared<FileView>();
    MPI_Offset pointer_ = 0;
    std::optional<SharedPointer> shared_pointer_{std::in_place};  // never without one
    std::optional<bool> keeps_views_back_;
    int refused_view_ = 0;
    bool has_new_hints_ = false;
    bool native_nonblocking_ = false;
    std::vector<KeyValue> hints_;
    std::unique_ptr<Reported> reported_;
    std::shared_ptr<BackendCounts> io_counts_ = std::make_shared<BackendCounts>();
    std::optional<SplitCall> split_call_;
    std::uint32_t nonblocking_ended_ = 0;  // collective, unlike making one: equal on all ranks
    OverlapGain overlap_gain_;
    std::unique_ptr<NonblockingCalls> nonblocking_;
    std::optional<Layout> layout_;
    GatheredFacts gathered_;
    AheadOfAgreement ahead_;
    std::optional<std::uint64_t> storage_key_;
    bool atomic_ = false;
    std::optional<StallWatch> stall_watch_;  // where several ranks have it open
    std::shared_ptr<CachedFile> cache_;      // refers to storage_
    Verdict deferred_;  // not of the cache that there is now; perhaps of this rank only
    Durability durability_;
};

}  // namespace unisono::interpose
