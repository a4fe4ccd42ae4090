#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unisono/extent.hpp"

namespace unisono {

enum class Switch : std::uint8_t { automatic, enable, disable };

/// A hint or an environment setting: key and value, as text.
using KeyValue = std::pair<std::string, std::string>;

/// Everything that a user can choose for one open file. Zero and `automatic` mean: Unisono decides.
/// docs/use/hints.md lists the names; src/options/options.hpp fills it.
struct Options {
    std::string strategy = "auto";  ///< unisono_strategy: auto or a name in strategies/all.cpp
    std::string_view strategy_why = "asked for";  ///< who has named it; lives for ever
    std::string select = "auto";        ///< unisono_select: how strategy auto chooses: auto, rule,
                                        ///< measured, orthrus
    std::string backend = "auto";       ///< unisono_backend: auto, posix, threads, uring, mapped,
                                        ///< mpiio
    std::string exchange = "auto";      ///< unisono_exchange: auto, shared_memory, messages
    std::string layout;                 ///< unisono_layout: src/layouts/layout_text.hpp; or ""
    std::string layout_named;           ///< as what it was given: UNISONO_LAYOUT, unisono_layout
    std::uint32_t pretended_nodes = 0;  ///< UNISONO_TOPOLOGY=nodes=N: split one machine's ranks
    bool pretended_fragments = false;   ///< nodes=N,fragments: long messages as over TCP
    bool native_only = false;           ///< native only: unisono_enable=false, or the site says so
    std::string left_alone_by;          ///< what said so, for the report

    bool prefetch_then_read =
        false;  ///< unisono_resonant_read=direct: agents warm the servers' caches
    bool as_many_groups_as_servers = false;  ///< unisono_resonant_groups=by_count

    std::uint64_t pool_bytes = 64 << 20;  ///< unisono_pool_bytes: buffers that live across calls,
                                          ///< per aggregator
    bool flush_at_close = false;  ///< unisono_flush=close: those are written when they must be only
    /// unisono_write_behind: repeated collective writes go to buffers that live across calls,
    /// without meetings. Automatic: where the strategy has such buffers, and, if write_behind_bytes
    /// says how much may be lost, where a rule (select/rule.cpp) finds that it pays.
    Switch write_behind = Switch::automatic;
    /// unisono_write_behind_bytes: so much of the file is in memory only, at most; 0: two windows,
    /// and of agreed calls what the pool holds.
    std::uint64_t write_behind_bytes = 0;
    std::uint32_t write_behind_s = 2;  ///< unisono_write_behind_s: for so long, at most
    /// unisono_read_ahead: collective reads that repeat find whole blocks in such buffers, without
    /// meetings, on one node. Automatic: where the strategy has such buffers.
    Switch read_ahead = Switch::automatic;
    /// unisono_overlap: nonblocking and split calls are done by threads, beside the program's own
    /// work. Automatic: on one node, and where the program has MPI_THREAD_MULTIPLE.
    Switch overlap = Switch::automatic;
    bool sync_at_close = false;  ///< unisono_sync_at_close: a closed file is durable

    std::uint64_t cb_buffer_size = 0;     ///< bytes per collective buffer
    std::uint32_t cb_nodes = 0;           ///< aggregators in all
    std::string cb_config_list;           ///< as ROMIO writes it, e.g. "*:4"; it is well-formed
    Switch cb_read = Switch::automatic;   ///< romio_cb_read, collective_buffering
    Switch cb_write = Switch::automatic;  ///< romio_cb_write, collective_buffering
    Switch ds_read = Switch::automatic;   ///< romio_ds_read
    Switch ds_write = Switch::automatic;  ///< romio_ds_write; enable: short holes, too, are
                                          ///< read and written, on servers
    Switch intra_node_aggregation =
        Switch::automatic;              ///< unisono_intra_node_aggregation: nodes send, not ranks
    bool no_indep_rw = false;           ///< romio_no_indep_rw
    std::uint64_t striping_unit = 0;    ///< bytes
    std::uint32_t striping_factor = 0;  ///< data servers

    /// UNISONO_ALLOW_LONE_RANKS: go on where a launcher started several processes and each is the
    /// only rank.
    bool allow_lone_ranks = false;

    std::string check =
        "none";  ///< UNISONO_CHECK: none, plans, communicate; see execute/checks.hpp

    std::string stall = "auto";  ///< unisono_stall: what to do about a call that waits so long:
                                 ///< auto, none, warn, abort
    std::uint32_t stall_s = 30;  ///< unisono_stall_s

    bool report_timeline = false;  ///< UNISONO_REPORT_TIMELINE: what happened when, in JSON
    bool report_calls = false;     ///< UNISONO_REPORT_CALLS: what calls asked for, in JSON

    std::string tune;       ///< UNISONO_TUNE: the file with what was learnt; "": the default; off
    std::string tune_site;  ///< UNISONO_TUNE_SITE: one for all users; "": the default

    std::string report = "none";  ///< UNISONO_REPORT: none, summary, json
    std::string report_file;      ///< UNISONO_REPORT_FILE: where to append; empty: stderr
    std::string report_traces;    ///< UNISONO_REPORT_TRACES: folder for what is open; "": none
    std::string faults;           ///< UNISONO_FAULTS, for tests: see src/options/fault_text.hpp

    /// What differs from the defaults, but for reports, with where it was said, from weak to
    /// strong: "cb_nodes=2 (MPI_Info)". For the report.
    std::vector<std::string> settings;

    /// Hints of files and of the environment, whatever their meaning, that the MPI library's own
    /// open should get on top of the program's MPI_Info (striping, direct_io, romio_lustre_...).
    /// Those that must not override the program's are already left out.
    std::vector<KeyValue> native_hints;

    friend bool operator==(Options const&, Options const&) = default;
};

/// Whether calls that repeat may need no meetings: write_behind or read_ahead.
inline Switch across_calls(Options const& options, Direction direction) {
    return direction == Direction::read ? options.read_ahead : options.write_behind;
}

}  // namespace unisono
