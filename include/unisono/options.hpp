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

// The options, said once: the members of Options, and what of it is sent to other ranks.
// X(type, member, initial value, what gives it and what it means)
#define UNISONO_OPTIONS(X)                                                                         \
    X(std::string, strategy, "auto", "unisono_strategy: auto or a name in strategies/all.cpp")     \
    X(std::string, select, "auto",                                                                 \
      "unisono_select: how strategy auto chooses: auto, rule, measured, orthrus")                  \
    X(std::string, backend, "auto", "unisono_backend: auto, posix, threads, uring, mapped, mpiio") \
    X(std::string, exchange, "auto", "unisono_exchange: auto, shared_memory, messages")            \
    X(std::string, layout, "", "unisono_layout: src/layouts/layout_text.hpp; or empty")            \
    X(std::string, layout_named, "", "as what it was given: UNISONO_LAYOUT, unisono_layout")       \
    X(std::uint32_t, pretended_nodes, 0, "UNISONO_TOPOLOGY=nodes=N: split one machine's ranks")    \
    X(bool, pretended_fragments, false, "nodes=N,fragments: long messages as over TCP")            \
    X(bool, native_only, false, "native only: unisono_enable=false, or the site says so")          \
    X(std::string, left_alone_by, "", "what said so, for the report")                              \
    X(bool, prefetch_then_read, false,                                                             \
      "unisono_resonant_read=direct: agents warm the servers' caches")                             \
    X(bool, as_many_groups_as_servers, false, "unisono_resonant_groups=by_count")                  \
    X(std::uint64_t, pool_bytes, 64 << 20,                                                         \
      "unisono_pool_bytes: buffers that live across calls, per aggregator")                        \
    X(bool, flush_at_close, false,                                                                 \
      "unisono_flush=close: those are written when they must be only")                             \
    X(Switch, write_behind, Switch::automatic,                                                     \
      "unisono_write_behind: repeated collective writes go to buffers that live across calls, "    \
      "without meetings. Automatic: where the strategy has such buffers, and, if "                 \
      "write_behind_bytes says how much may be lost, where a rule (select/rule.cpp) finds "        \
      "that it pays")                                                                              \
    X(std::uint64_t, write_behind_bytes, 0,                                                        \
      "unisono_write_behind_bytes: so much of the file is in memory only, at most; 0: two "        \
      "windows, and of agreed calls what the pool holds")                                          \
    X(std::uint32_t, write_behind_s, 2, "unisono_write_behind_s: for so long, at most")            \
    X(Switch, read_ahead, Switch::automatic,                                                       \
      "unisono_read_ahead: collective reads that repeat find whole blocks in such buffers, "       \
      "without meetings, on one node. Automatic: where the strategy has such buffers")             \
    X(Switch, overlap, Switch::automatic,                                                          \
      "unisono_overlap: nonblocking and split calls are done by threads, beside the program's "    \
      "own work. Automatic: on one node, and where the program has MPI_THREAD_MULTIPLE")           \
    X(bool, sync_at_close, false, "unisono_sync_at_close: a closed file is durable")               \
    X(std::uint64_t, cb_buffer_size, 0, "bytes per collective buffer")                             \
    X(std::uint32_t, cb_nodes, 0, "aggregators in all")                                            \
    X(std::string, cb_config_list, "", "as ROMIO writes it, e.g. '*:4'; it is well-formed")        \
    X(Switch, cb_read, Switch::automatic, "romio_cb_read, collective_buffering")                   \
    X(Switch, cb_write, Switch::automatic, "romio_cb_write, collective_buffering")                 \
    X(Switch, ds_read, Switch::automatic, "romio_ds_read")                                         \
    X(Switch, ds_write, Switch::automatic,                                                         \
      "romio_ds_write; enable: short holes, too, are read and written, on servers")                \
    X(Switch, intra_node_aggregation, Switch::automatic,                                           \
      "unisono_intra_node_aggregation: nodes send, not ranks")                                     \
    X(bool, no_indep_rw, false, "romio_no_indep_rw")                                               \
    X(std::uint64_t, striping_unit, 0, "bytes")                                                    \
    X(std::uint32_t, striping_factor, 0, "data servers")                                           \
    X(bool, allow_lone_ranks, false,                                                               \
      "UNISONO_ALLOW_LONE_RANKS: go on where a launcher started several processes and each is "    \
      "the only rank")                                                                             \
    X(std::string, check, "none",                                                                  \
      "UNISONO_CHECK: none, plans, communicate; see execute/checks.hpp")                           \
    X(std::string, stall, "auto",                                                                  \
      "unisono_stall: what to do about a call that waits so long: auto, none, warn, abort")        \
    X(std::uint32_t, stall_s, 30, "unisono_stall_s")                                               \
    X(bool, report_timeline, false, "UNISONO_REPORT_TIMELINE: what happened when, in JSON")        \
    X(bool, report_calls, false, "UNISONO_REPORT_CALLS: what calls asked for, in JSON")            \
    X(std::string, tune, "",                                                                       \
      "UNISONO_TUNE: the file with what was learnt; empty: the default; off")                      \
    X(std::string, tune_site, "", "UNISONO_TUNE_SITE: one for all users; empty: the default")      \
    X(std::string, report, "none", "UNISONO_REPORT: none, summary, json")                          \
    X(std::string, report_file, "", "UNISONO_REPORT_FILE: where to append; empty: stderr")         \
    X(std::string, report_traces, "",                                                              \
      "UNISONO_REPORT_TRACES: folder for what is open; empty: none")                               \
    X(std::string, faults, "", "UNISONO_FAULTS, for tests: see src/options/fault_text.hpp")        \
    X(std::vector<std::string>, settings, {},                                                      \
      "What differs from the defaults, but for reports, with where it was said, from weak to "     \
      "strong: 'cb_nodes=2 (MPI_Info)'. For the report")                                           \
    X(std::vector<KeyValue>, native_hints, {},                                                     \
      "Hints of files and of the environment, whatever their meaning, that the MPI library's "     \
      "own open should get on top of the program's MPI_Info (striping, direct_io, "                \
      "romio_lustre_...). Those that must not override the program's are already left out")

#define UNISONO_MEMBER(type, member, initial, ...) type member = initial;

/// Everything that a user can choose for one open file. Zero and `automatic` mean: Unisono decides.
/// docs/use/hints.md lists the names; src/options/options.hpp fills it.
struct Options {
    UNISONO_OPTIONS(UNISONO_MEMBER)

    std::string_view strategy_why = "asked for";  ///< who has named it; lives for ever

    friend bool operator==(Options const&, Options const&) = default;
};
#undef UNISONO_MEMBER

/// Whether calls that repeat may need no meetings: write_behind or read_ahead.
inline Switch across_calls(Options const& options, Direction direction) {
    return direction == Direction::read ? options.read_ahead : options.write_behind;
}

}  // namespace unisono
