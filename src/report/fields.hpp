#pragma once

// What a report says, said once: the members of FileReport and DirectionReport, how they merge,
// their bytes and their JSON, the rows of `unisono report` and its --help-fields all come from
// these lists.
//
// X(type, member, initial value, key, unit, merge, label, meaning)
//   key      where it is in the JSON object
//   unit     how people are shown it: count, bytes, seconds, text, or something of its own
//   merge    over ranks, a function in report.cpp: sum; largest, where every rank counts the same
//            events; first of those that have one; distinct texts; least; rank_0, which keeps its
//            own
//   label    in a table
//   meaning  stands by itself, in the document

// One direction of one file.
#define UNISONO_DIRECTION_FIELDS(X)                                                                \
    X(std::uint64_t, collective_calls, 0, "calls/collective", count, largest, "collective calls",  \
      "data calls that all ranks made together")                                                   \
    X(std::uint64_t, failed_calls, 0, "calls/failed", count, largest, "failed",                    \
      "collective calls that ended in an error, of which the program was told")                    \
    X(std::uint64_t, failed_independent_calls, 0, "calls/failed_independent", count, sum,          \
      "failed on single ranks", "the same of single ranks, over all ranks")                        \
    X(std::uint64_t, independent_calls, 0, "calls/independent", count, sum, "independent calls",   \
      "data calls of single ranks that Unisono did, over all ranks; also a rank's part of a"       \
      " nonblocking collective call that each did by itself")                                      \
    X(Reasons, native_calls, {}, "calls/native", reasons, largest, "left to the MPI library",      \
      "collective calls that Unisono did not try to do, by reason")                                \
    X(Reasons, native_independent_calls, {}, "calls/native_independent", reasons, sum,             \
      "left to it by single ranks", "the same of single ranks, over all ranks")                    \
    X(std::uint64_t, asked_bytes, 0, "bytes/asked", bytes, sum, "bytes asked for",                 \
      "by the program, in all data calls")                                                         \
    X(std::uint64_t, native_bytes, 0, "bytes/native", bytes, sum, "of them by the MPI library",    \
      "of these, in calls that the MPI library did")                                               \
    X(std::uint64_t, most_asked_bytes, 0, "bytes/most", bytes, largest, "most of one rank",        \
      "of the bytes asked for, those of the rank that asked for most")                             \
    X(std::uint64_t, moved_bytes, 0, "bytes/moved", bytes, sum, "bytes moved",                     \
      "to or from the file, by Unisono; also what came again, or was thrown away")                 \
    X(std::uint64_t, sent_bytes, 0, "bytes/sent", bytes, sum, "sent in messages",                  \
      "in these messages")                                                                         \
    X(std::uint64_t, reduced_bytes, 0, "bytes/reduced", bytes, sum, "brought to reductions",       \
      "by ranks to the reductions below")                                                          \
    X(std::uint64_t, pieces, 0, "pieces", count, sum, "pieces of the program",                     \
      "contiguous pieces of data in the program's file view, in calls that Unisono did")           \
    X(std::uint64_t, estimated_pieces, 0, "estimated_pieces", count, sum, "of them estimated",     \
      "of these, in calls with an irregular view that was cut, where their number is an estimate") \
    X(Histogram, piece_sizes, {}, "piece_sizes", histogram, sum, "by size",                        \
      "of these, `[size, pieces]`: how many are of `size` bytes or more, but of less than twice "  \
      "as"                                                                                         \
      " much; a rank's pieces in one call count with their average size")                          \
    X(std::uint64_t, extents, 0, "extents", count, sum, "extents accessed",                        \
      "contiguous parts of the file that Unisono accessed at once")                                \
    X(std::uint64_t, lists, 0, "lists", count, sum, "in lists",                                    \
      "lists in which it gave these to the backend")                                               \
    X(std::uint64_t, messages, 0, "messages", count, sum, "messages",                              \
      "messages between ranks of different nodes, but for those of reductions")                    \
    X(std::uint64_t, meetings, 0, "meetings", count, largest, "meetings of all ranks",             \
      "how often all ranks agreed on something, in data calls")                                    \
    X(std::uint64_t, barriers, 0, "barriers", count, largest, "barriers on a node",                \
      "how often a node's ranks waited for each other, in data calls")                             \
    X(std::uint64_t, reductions, 0, "reductions", count, largest, "reductions",                    \
      "gathers and minima over all ranks, and merges over the nodes' first ranks, in data calls")  \
    X(std::uint64_t, rounds, 0, "rounds", count, largest, "rounds",                                \
      "uses of the collective buffer")                                                             \
    X(Uses, strategies, {}, "strategies", uses, largest, "strategies",                             \
      "by name, the `calls` that they did and `why` they were chosen")                             \
    X(Uses, refusals, {}, "refusals", uses, largest, "refused",                                    \
      "by the strategy that was asked for: `calls` that it could not do, and `why`")               \
    X(CallTimes, seconds, {}, "seconds", times, sum, "time in calls",                              \
      "of data calls: by phase, the `mean` over the ranks and `longest` on one rank; the means "   \
      "add up to `whole`")                                                                         \
    X(Spent, independent_time, {}, "independent_seconds", spent, sum, "of it, independent calls",  \
      "of `whole`, in calls of single ranks that Unisono did")                                     \
    X(Spent, beside_time, {}, "beside_seconds", spent, sum, "beside the program",                  \
      "in threads of Unisono, for nonblocking and split calls; not in `whole`")                    \
    X(Latest, latest, {}, "latest", latest, least, "came last",                                    \
      "the `rank` that waited least for others to come to the collective calls: so others waited"  \
      " for it; and the `seconds` that it waited")                                                 \
    X(Selections, selections, {}, "selections", selections, rank_0, "",                            \
      "where strategies were measured, for each class of `calls`, from the first file of the"      \
      " communicator on: `calls_done`, the candidates that were `tried` (`calls`, `remembered`"    \
      " from earlier runs, `bytes_per_second`) and those that were not (`untried`), the `winner`"  \
      " and `why`, `seconds`, of which `examination_seconds` were lost by trying others, and when" \
      " and why it was `reopened`, the first eight times")                                         \
    X(CallsTimeline, timeline, {}, "timeline", timeline, sum, "",                                  \
      "with `UNISONO_REPORT_TIMELINE`, by `rank` of the program, its data calls in order: each"    \
      " entry is when it"                                                                          \
      " began (`at`, seconds since the epoch), its `seconds`, `calls` and `bytes`, and its"        \
      " `phases` with their seconds; where there were too many calls, neighbours are one entry")   \
    X(CallsTimeline, beside_timeline, {}, "beside_timeline", timeline, sum, "",                    \
      "the same of calls that threads of Unisono did")                                             \
    X(AccessTimeline, accesses, {}, "accesses", accesses, sum, "",                                 \
      "with `UNISONO_REPORT_TIMELINE`, by `rank`, the `lists` that it gave to the backend: when"   \
      " they began (`at` the first, and the last `seconds` later), how many `bytes`, and the file" \
      " bytes from `begin` to `end` that they lie between")                                        \
    X(Loads, server_bytes, {}, "server_bytes", loads, sum, "",                                     \
      "with `UNISONO_REPORT_TIMELINE`, how many bytes of these lists each data server has, where"  \
      " the layout is known")

// One file, from open to close.
#define UNISONO_FILE_FIELDS(X)                                                                     \
    X(std::string, file, {}, "file", text, first, "file", "its name, as the program called it")    \
    X(std::uint32_t, ranks, 1, "ranks", count, sum, "ranks",                                       \
      "ranks whose counters are in the report")                                                    \
    X(std::uint32_t, opened_by, 0, "opened_by", count, largest, "opened by",                       \
      "ranks that opened the file; more than `ranks` where the report is one rank's part")         \
    X(std::uint32_t, nodes, 1, "nodes", count, largest, "nodes", "nodes that these ranks run on")  \
    X(std::uint32_t, aggregators, 0, "aggregators", count, largest, "aggregators",                 \
      "the most aggregators of any call")                                                          \
    X(ProgramReport, program, {}, "program", program, sum, "program",                              \
      "its `id`, which is that of all files of one launch, the `name` of what is executed, the"    \
      " `mpi` library, all its `ranks` (0: not known), `cores`: CPUs of a node that the ranks of"  \
      " this report may use, when it `began` (seconds since the epoch), `seconds` from then to"    \
      " this report, and `core_wait_seconds` of them, the most that a rank's first thread was"     \
      " ready to run and had no core")                                                             \
    X(Notes, settings, {}, "settings", notes, distinct, "setting",                                 \
      "what users and sites have set, with where, from weak to strong; the last one counts")       \
    X(std::string, backend, {}, "backend", text, first, "backend", "how the file was accessed")    \
    X(std::string, backend_why, {}, "backend_why", text, first, "because", "why so")               \
    X(std::string, layout, {}, "layout", text, first, "layout",                                    \
      "what was known of where its bytes are")                                                     \
    X(std::string, unfinished, {}, "unfinished", text, first, "not finished",                      \
      "why the file was not closed, if it was not")                                                \
    X(std::string, left_alone, {}, "left_alone", text, first, "left alone",                        \
      "why the MPI library did all calls on this file, if it did")                                 \
    X(Notes, notes, {}, "notes", notes, distinct, "note",                                          \
      "what you should know, for instance a striping that hurts")                                  \
    X(Notes, errors, {}, "errors", notes, distinct, "error",                                       \
      "what the program was told of, the first few that differ")                                   \
    X(Slowdown, slower, {}, "slower", slower, rank_0, "",                                          \
      "where the file was clearly slower than files like it in earlier `runs`, as is `said`: its"  \
      " `seconds` without waiting for ranks, the `median_seconds` of these runs and the"           \
      " `upper_seconds` that four of five of them stayed below, for as many bytes, and"            \
      " `storage_share`: how much of what it took longer was file I/O")                            \
    X(GateReport, gate, {}, "gate", gate, sum, "gate",                                             \
      "at the gate of an orchestrator (see orchestra): `accesses` that passed it, `waits` for the" \
      " program's turn, `seconds` waited (in `file`, too), `locality`: how the node daemon was "   \
      "told"                                                                                       \
      " where accesses go")                                                                        \
    X(FileTimes, seconds, {}, "seconds", times, sum, "time in other calls",                        \
      "of calls that move no data: by phase, as in the directions")                                \
    X(FileTimeline, timeline, {}, "timeline", timeline, sum, "",                                   \
      "with `UNISONO_REPORT_TIMELINE`, calls that move no data, as in the directions")             \
    X(Recording, recording, {}, "recording", recording, sum, "",                                   \
      "with `UNISONO_REPORT_CALLS`, the collective calls for `unisono replay`: for what `access`"  \
      " the program opened the file, its `hints`, and by `rank` of the file its `views` (tiles,"   \
      " `extent` bytes apart), its `calls`, and how many were `left_out` after these; each call"   \
      " is an array of its kind, the number of its view, where that begins in the file, its first" \
      " data byte in it, its bytes, how many such calls there are, and what is added to both"      \
      " places from one to the next")                                                              \
    X(std::uint64_t, syncs, 0, "syncs", count, sum, "syncs",                                       \
      "how often Unisono made what was written durable, over all ranks")                           \
    X(DirectionReport, read, {}, "read", direction, sum, "read",                                   \
      "the two directions, each with the keys below")                                              \
    X(DirectionReport, write, {}, "write", direction, sum, "write", "the same")
