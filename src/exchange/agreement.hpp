#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "support/hash.hpp"
#include "unisono/extent.hpp"
#include "unisono/plan.hpp"
#include "unisono/result.hpp"

namespace unisono {

// What ranks tell each other around a collective call: one small payload for each purpose, composed
// of parts. Each is merged over all ranks, in rank order, and is trivially copyable: it travels
// through shared memory and messages as it is.

/// What a rank asks for.
struct AskedFor {
    Extent touched{IoResult::nowhere, 0};  ///< empty: no bytes asked for
    std::uint64_t bytes = 0;
    std::uint64_t pieces = 0;
    std::uint64_t alignment = 0;     ///< OR of offsets and lengths
    Hash128 loops{};                 ///< fingerprint of it; zeros: not equal on all ranks
    std::uint64_t request_hash = 0;  ///< order-independent hash of it, and of the file
    bool rank_ordered = true;
    bool ascending = true;

    void merge(AskedFor const& later) {
        rank_ordered = rank_ordered && later.rank_ordered &&
                       (bytes == 0 || later.bytes == 0 || touched.end <= later.touched.begin);
        touched = {std::min(touched.begin, later.touched.begin),
                   std::max(touched.end, later.touched.end)};
        bytes += later.bytes;
        pieces += later.pieces;
        alignment |= later.alignment;
        if (loops != later.loops) loops = {};
        request_hash += later.request_hash;
        ascending = ascending && later.ascending;
    }
};

/// What a rank's storage is like.
struct StorageFacts {
    std::uint64_t file_bytes = IoResult::nowhere;  ///< before the call; the least that a rank saw
    bool mappable = true;
    bool local = true;
    bool page_cached = false;      ///< whole pages are written back
    bool write_only = true;        ///< nobody reads through this file
    bool read_only = true;         ///< nobody writes through this file
    Links links = Links::unknown;  ///< as far as the rank has seen

    void merge(StorageFacts const& later) {
        file_bytes = std::min(file_bytes, later.file_bytes);
        mappable = mappable && later.mappable;
        local = local && later.local;
        page_cached = page_cached || later.page_cached;
        write_only = write_only && later.write_only;
        read_only = read_only && later.read_only;
        links = std::max(links, later.links);
    }
};

/// Why a call is not to be done, or not by Unisono.
struct Objection {
    std::int32_t refusal = 0;  ///< MPI error class of bad arguments on some rank; 0: none
    std::uint32_t refusing_rank = 0;
    bool must_be_native = false;  ///< some rank cannot do this call with Unisono

    void merge(Objection const& later) {
        if (refusal == 0) {
            refusal = later.refusal;
            refusing_rank = later.refusing_rank;
        }
        must_be_native = must_be_native || later.must_be_native;
    }
};

/// What ranks have kept to themselves since a new view that they did not meet for.
struct SinceView {
    std::uint32_t refused = 0;  ///< ranks that have the view before it still
    Objection first{};          ///< of these
    bool new_hints = false;

    void merge(SinceView const& later) {
        refused += later.refused;
        first.merge(later.first);
        new_hints = new_hints || later.new_hints;
    }
};

/// What a rank needs of buffers that live across calls.
struct CacheNeeds {
    bool possible = true;        ///< there can be such
    bool drain = false;          ///< before the call
    bool write_through = false;  ///< this call's data must be in the file at its end
    bool misfit = false;         ///< the rank wrote elsewhere than was foreseen
    /// How far the rank is ahead, in the file, of its last write of the same size.
    std::uint64_t advance = no_repeat;
    std::uint32_t repeats = 0;  ///< Facts::repeats, as far as this rank goes

    /// How many calls like this one may come without an agreement, as far as the rank's memory
    /// goes.
    std::uint64_t calls_in_memory = UINT64_MAX;

    static constexpr std::uint64_t no_repeat = UINT64_MAX;

    void merge(CacheNeeds const& later) {
        misfit = misfit || later.misfit;
        advance = std::max(advance, later.advance);
        repeats = std::min(repeats, later.repeats);
        calls_in_memory = std::min(calls_in_memory, later.calls_in_memory);
        possible = possible && later.possible;
        drain = drain || later.drain;
        write_through = write_through || later.write_through;
    }
};

/// What selection wants to know of a rank.
struct SelectionFacts {
    float last_seconds = 0;     ///< that the previous measured call took; seven digits will do
    bool native_ready = false;  ///< Facts::native_ready, as far as this rank goes
    bool done_ahead = false;    ///< all that is asked for has been moved, by each rank for itself

    void merge(SelectionFacts const& later) {
        last_seconds = std::max(last_seconds, later.last_seconds);
        native_ready = native_ready && later.native_ready;
        done_ahead = done_ahead && later.done_ahead;
    }
};

/// Whether the CPU can access a rank's data.
struct DeviceFacts {
    std::uint64_t host_windows = 0;  ///< that the request fills, were it device memory
    bool any = false;                ///< it cannot

    void merge(DeviceFacts const& later) {
        host_windows = std::max(host_windows, later.host_windows);
        any = any || later.any;
    }
};

/// What one rank brings to a collective data call.
struct Proposal {
    AskedFor asked;
    StorageFacts storage;
    Objection objection;
    SinceView since_view;
    CacheNeeds cache;
    bool as_gathered = false;  ///< what was gathered last is still true
    SelectionFacts selection;
    DeviceFacts device;

    void merge(Proposal const& later) {
        asked.merge(later.asked);
        storage.merge(later.storage);
        objection.merge(later.objection);
        since_view.merge(later.since_view);
        cache.merge(later.cache);
        as_gathered = as_gathered && later.as_gathered;
        selection.merge(later.selection);
        device.merge(later.device);
    }
};

/// Of what ranks must give alike.
struct Digest {
    std::uint64_t least = 0;
    std::uint64_t most = 0;

    Digest() = default;
    explicit Digest(std::uint64_t own) : least{own}, most{own} {}
    void merge(Digest const& later) {
        least = std::min(least, later.least);
        most = std::max(most, later.most);
    }
    [[nodiscard]] bool alike() const { return least == most; }
};

/// What one rank brings to a collective call that moves no data: a new view, space for the file.
struct Notice {
    Objection objection;
    bool defer_native_view = false;  ///< the MPI library had better not see some rank's view yet
    bool native_layout_differs = false;  ///< it would have some rank's data elsewhere in the file
    bool new_hints = false;              ///< of some rank
    bool keep_views_back = true;         ///< all ranks can do without the MPI library's knowing
    std::uint64_t secret = 0;            ///< the largest of those that ranks have thought of
    Digest representation;

    void merge(Notice const& later) {
        objection.merge(later.objection);
        defer_native_view = defer_native_view || later.defer_native_view;
        native_layout_differs = native_layout_differs || later.native_layout_differs;
        new_hints = new_hints || later.new_hints;
        keep_views_back = keep_views_back && later.keep_views_back;
        secret = std::max(secret, later.secret);
        representation.merge(later.representation);
    }
};

/// What one rank brings to the end of an open, or of a change of options.
struct OpenNotice {
    bool knows_strategy = true;
    bool new_options = false;  ///< rank 0's are not those that all have
    /// The unit of a local layout, on rank 0; 0: it is none, or more has to be said of it.
    std::uint64_t local_layout_unit = UINT64_MAX;
    bool local = true;  ///< StorageFacts::local
    Digest file;        ///< which one it is, if it is local

    void merge(OpenNotice const& later) {
        local = local && later.local;
        file.merge(later.file);
        knows_strategy = knows_strategy && later.knows_strategy;
        new_options = new_options || later.new_options;
        local_layout_unit = std::min(local_layout_unit, later.local_layout_unit);
    }
};

/// What one rank brings to a sync.
struct SyncNotice {
    bool wrote = false;
    bool native_wrote = false;
    bool failed = false;
    bool alone = false;  ///< what it wrote may not be where the others' is
    std::uint64_t least_device = 0;
    std::uint64_t most_device = least_device;
    std::uint64_t least_inode = 0;
    std::uint64_t most_inode = least_inode;

    void merge(SyncNotice const& later) {
        wrote = wrote || later.wrote;
        native_wrote = native_wrote || later.native_wrote;
        failed = failed || later.failed;
        alone = alone || later.alone;
        least_device = std::min(least_device, later.least_device);
        most_device = std::max(most_device, later.most_device);
        least_inode = std::min(least_inode, later.least_inode);
        most_inode = std::max(most_inode, later.most_inode);
    }
    [[nodiscard]] bool one_file() const {
        return !alone && least_device == most_device && least_inode == most_inode;
    }
};

/// What one rank is called with where all must give the same, or where the shared file pointer is,
/// or goes.
struct CallArguments {
    Objection objection;
    std::uint64_t etypes = 0;  ///< that an ordered call asks for; UINT64_MAX: or more
    std::int64_t begin = 0;    ///< the shared file pointer, in etypes, after what a rank did before
    Digest digest;

    void merge(CallArguments const& later) {
        objection.merge(later.objection);
        if (__builtin_add_overflow(etypes, later.etypes, &etypes)) etypes = UINT64_MAX;
        begin = std::max(begin, later.begin);  // it only grows
        digest.merge(later.digest);
    }
};

/// How a collective call ended on one rank, so that all return the same error.
struct Verdict {
    std::uint64_t stopped_at =
        IoResult::nowhere;         ///< lowest file offset that some aggregator missed
    std::uint64_t offset = 0;      ///< where the error below happened
    std::int32_t code = 0;         ///< errno; 0: no error
    std::uint32_t rank = 0;        ///< of that error
    std::array<char, 24> call{};   ///< system call of that error
    std::uint64_t lost_end = 0;    ///< deferred writes: all from `offset` to here may be missing
    std::uint64_t lost_bytes = 0;  ///< deferred writes: of all ranks

    Verdict() = default;
    Verdict(IoResult const& result, std::uint32_t my_rank)
        : stopped_at{result.stopped_at},
          offset{result.error.offset},
          code{result.error.code},
          rank{my_rank} {
        std::strncpy(call.data(), result.error.call, call.size() - 1);
    }

    void merge(Verdict const& later) {
        auto const later_error_first = later.code != 0 && (code == 0 || later.offset < offset);
        if (later_error_first) {
            offset = later.offset;
            code = later.code;
            rank = later.rank;
            call = later.call;
        }
        lost_end = std::max(lost_end, later.lost_end);
        lost_bytes += later.lost_bytes;
        stopped_at = std::min(stopped_at, later.stopped_at);
    }
};

/// How a call that moves no data ended on one rank. Several may know of the same loss: the first
/// one's word is all ranks'.
struct FirstFailure {
    Verdict verdict;

    void merge(FirstFailure const& later) {
        if (verdict.code == 0) verdict = later.verdict;
    }
};

}  // namespace unisono
