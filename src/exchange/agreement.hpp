#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "unisono/extent.hpp"
#include "unisono/result.hpp"

namespace unisono {

/// What one rank brings to a collective call; merged over all ranks in rank order before it.
/// Trivially copyable: it travels through shared memory and messages as it is.
struct Proposal {
    Extent touched{IoResult::nowhere, 0};  ///< empty: no bytes asked for
    std::uint64_t bytes = 0;
    std::uint64_t pieces = 0;
    std::uint64_t alignment = 0;  ///< OR of offsets and lengths
    std::uint64_t loops = 0;      ///< fingerprint of what is asked for; 0: not equal on all ranks
    std::uint64_t shapes = 0;     ///< order-independent hash of what is asked for, of which file
    std::uint64_t file_bytes = IoResult::nowhere;  ///< before the call; the least that a rank saw
    double last_seconds = 0;                       ///< that the previous measured call took
    std::int32_t refusal = 0;  ///< MPI error class of bad arguments on some rank; 0: none
    std::uint32_t refusing_rank = 0;
    bool rank_ordered = true;
    bool ascending = true;
    bool mappable = true;
    bool local_storage = true;
    bool page_cached = false;     ///< whole pages are written back
    bool must_be_native = false;  ///< some rank cannot do this call with Unisono
    bool as_gathered = false;     ///< what was gathered last is still true
    bool cacheable = true;        ///< buffers may live across calls
    bool drain_cache = false;     ///< before the call, those that do must be drained
    bool write_through = false;   ///< and this call's data must be in the file at its end
    bool native_ready = false;    ///< Facts::native_ready, as far as this rank goes
    bool costly_view = false;     ///< set_view: the MPI library had better not see some rank's yet

    void merge(Proposal const& later) {
        rank_ordered = rank_ordered && later.rank_ordered &&
                       (bytes == 0 || later.bytes == 0 || touched.end <= later.touched.begin);
        touched = {std::min(touched.begin, later.touched.begin),
                   std::max(touched.end, later.touched.end)};
        bytes += later.bytes;
        pieces += later.pieces;
        alignment |= later.alignment;
        if (loops != later.loops) loops = 0;
        shapes += later.shapes;
        file_bytes = std::min(file_bytes, later.file_bytes);
        last_seconds = std::max(last_seconds, later.last_seconds);
        if (refusal == 0) {
            refusal = later.refusal;
            refusing_rank = later.refusing_rank;
        }
        ascending = ascending && later.ascending;
        mappable = mappable && later.mappable;
        local_storage = local_storage && later.local_storage;
        page_cached = page_cached || later.page_cached;
        must_be_native = must_be_native || later.must_be_native;
        as_gathered = as_gathered && later.as_gathered;
        cacheable = cacheable && later.cacheable;
        drain_cache = drain_cache || later.drain_cache;
        write_through = write_through || later.write_through;
        native_ready = native_ready && later.native_ready;
        costly_view = costly_view || later.costly_view;
    }
};

/// How a collective call ended on one rank; merged over all ranks after it, so that all return
/// the same error.
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
            lost_end = later.lost_end;
        }
        lost_bytes += later.lost_bytes;
        stopped_at = std::min(stopped_at, later.stopped_at);
    }
};

}  // namespace unisono
