#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unisono/extent.hpp"
#include "unisono/layout.hpp"
#include "unisono/loops.hpp"
#include "unisono/options.hpp"
#include "unisono/realm.hpp"
#include "unisono/topology.hpp"

namespace unisono {

/// One rank's part of a collective call.
struct RankFacts {
    Extent touched;  ///< file bytes, first to last; empty when it asks for none
    std::uint64_t bytes = 0;
};

/// The node whose ranks ask for most of a cell of the file, and for how much of it; 0 bytes: nobody
/// asks for any.
struct CellHolder {
    std::uint32_t node = 0;
    std::uint64_t bytes = 0;
};

/// What carries messages between nodes, and file data beside them, as some aggregator has seen it:
/// busy with file data, or faster than the slowest links (1 Gbit/s), or with much room left as
/// servers are far slower.
enum class Links : std::uint8_t { unknown, busy, fast, idle };

/// What all ranks know of one collective call once they have agreed. Equal on all ranks.
struct Facts {
    Direction direction = Direction::write;
    Topology const* topology = nullptr;
    Layout const* layout = nullptr;
    Extent touched;            ///< first to last file byte that any rank asks for
    std::uint64_t bytes = 0;   ///< asked for by all ranks together
    std::uint64_t pieces = 0;  ///< contiguous file pieces of all ranks together, at most
    bool rank_ordered = true;  ///< ranks' extents are disjoint and ascend with the rank
    bool ascending = true;     ///< every view is ascending: offsets can be searched
    bool local_storage =
        false;  ///< one node's own file system: its page cache is shared by all ranks
    bool page_cached = false;  ///< clients write back whole pages: no two nodes may share one (NFS)
    bool mappable = false;     ///< local, and every rank may write existing bytes through a mapping
    /// Before the call. Writes: only where mappable. Reads: where selection measures; else without
    /// end.
    std::uint64_t file_bytes = 0;
    /// The MPI library knows every view, all datatypes are plain, and no second thread may call.
    bool native_ready = false;
    bool cacheable = false;   ///< what is written may reach the file after the call
    bool write_only = false;  ///< nobody can read through this file
    bool read_only = false;   ///< nobody can write through this file
    Links links = Links::unknown;
    /// Writes in a row, up to this one, that were as long as the one before on every rank and came
    /// soon after it.
    std::uint32_t repeats = 0;
    std::uint64_t request_hash =
        0;        ///< order-independent hash of the file and of what each rank asks for
    Loops loops;  ///< what every rank asks for, from its own first byte on; else empty

    /// By rank; only for strategies that ask for it (Strategy::gathers).
    std::span<RankFacts const> ranks;
    /// Bytes asked for by rank r of server s at [r * servers + s]; only on request, too.
    std::span<std::uint64_t const> server_bytes;
    /// Who holds the data of each cell of `touched`, which multiples of cell_bytes cut into cells;
    /// only for strategies that ask for it (Strategy::cell_bytes).
    std::span<CellHolder const> cells;
    std::uint64_t cell_bytes = 0;

    [[nodiscard]] std::uint64_t mean_piece_bytes() const {
        return pieces == 0 ? 0 : bytes / pieces;
    }
};

/// How one collective call is done: O(aggregators), it lists no transfers. A function of the facts
/// alone, so that all ranks hold the same plan without sending it.
struct Plan {
    enum class Way : std::uint8_t {
        native,  ///< let the MPI library do it
        direct,  ///< each rank accesses the file for itself
        staged,  ///< aggregators access the file, data goes through their collective buffers; only
                 ///< where Facts::ascending
        cached,  ///< the same, with buffers that live across calls; only where Facts::cacheable,
                 ///< too
    };

    Way way = Way::native;

    /// direct: rank r begins `delay_s` after rank waits_for[r] has issued its requests; with itself
    /// or with nothing here, at once. No cycles.
    std::vector<std::uint32_t> waits_for;
    double delay_s = 0;

    std::vector<std::uint32_t> aggregators;  ///< staged, cached: their ranks; one may own several
    /// staged: file bytes that each aggregator owns (its file realm). They are disjoint, lie within
    /// Facts::touched and together have every byte that a rank asks for; with within_nodes, those
    /// of each node have what its ranks ask for. Where nodes write whole pages back
    /// (Facts::page_cached), no two nodes own parts of one. See strategies/check_plan.hpp.
    std::vector<Realm> realms;
    bool within_nodes = false;  ///< staged: aggregators take their own node's data only
    /// staged, between nodes: each aggregator begins with another one of its realm's windows, and
    /// comes to those before it at the end. See RoundSchedule::Begin.
    bool staggered = false;
    std::uint64_t window_bytes = 0;  ///< staged: collective buffer, one window a round
    std::uint64_t list_extents_max =
        0;  ///< staged: extents in one request; 0: as many as there are
    /// staged reads: what aggregators read for others only warms the servers' caches; when all have
    /// issued their requests, every rank reads from the file what it has not read as an aggregator.
    bool prefetch_then_read = false;
    /// staged: nodes send, not ranks (unisono_intra_node_aggregation). Not the strategy's business:
    /// whoever has it planned says it.
    Switch intra_node_aggregation = Switch::automatic;
    /// staged writes: short holes are read, and written with the pieces around them (ds_write). Not
    /// the strategy's business, either.
    bool writes_holes = false;

    /// cached: block k of the file is aggregators[k % A]'s, in one of its pool's buffers.
    std::uint64_t block_bytes = 0;
    std::uint64_t pool_bytes = 0;  ///< cached: per aggregator
    bool flush_online = false;     ///< cached: also between calls, not only when it must be
    /// cached: so much of what calls that are over have written may be in memory only; 0: the pool.
    std::uint64_t unsaved_bytes = 0;
    double unsaved_s = 0;  ///< cached: for so long, as far as calls come; with flush_online
};

/// What a strategy must know beyond what the ranks agree on in any case.
enum class Gathers : std::uint8_t {
    nothing,
    ranks,         ///< Facts::ranks: 24 bytes a rank
    server_bytes,  ///< and Facts::server_bytes: 8 more a rank and server; needs a known layout
};

/// A way of doing collective I/O: a pure function from facts to a plan.
struct Strategy {
    std::string_view name;
    std::string_view summary;
    std::string_view source;  ///< paper or origin
    Gathers gathers = Gathers::nothing;
    /// How large the cells of Facts::cells are to be; null or 0: it need not know them. Equal on
    /// all ranks. Two reductions of 8 bytes a cell.
    std::uint64_t (*cell_bytes)(Facts const& facts, Options const& options) = nullptr;
    /// Why it cannot do this call; empty: it can. Asked before anything is gathered and, if it
    /// gathers, once more after that.
    std::string_view (*unfit)(Facts const& facts);
    /// Only called when it is fit. `options`: the user's, with what selection tries in them.
    Plan (*plan)(Facts const& facts, Options const& options);
    /// Whether measuring it may be worth while; null: always. E.g. not with a single data server.
    bool (*worth_measuring)(Facts const& facts) = nullptr;
};

}  // namespace unisono
