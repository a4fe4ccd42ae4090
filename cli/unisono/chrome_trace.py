"""A job's calls as trace events that ui.perfetto.dev and chrome://tracing show ("Trace Event Format").

Each rank is a process with up to two tracks: its calls, and what threads of Unisono did beside them. A slice
is a call; below it are the phases that it went through. Where the library had to put neighbouring calls
together, a slice is all of them with what was between, and its arguments say what they spent their time on.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .job import Job
from .report import Record, calls_of, short_bytes
from .timeline import Calls, calls

EVENTS_AT_MOST = 400_000  # some 60 MB
_CALLS, _BESIDE = 0, 1
_BESIDE_FROM = 1 << 20  # more than there are ranks
_TRACKS = {_CALLS: "calls", _BESIDE: "beside the program"}

_Tracks = dict[tuple[int, int], list[Calls]]


def trace(jobs: list[Job]) -> Record:
    """The whole of the file. Cost: O(entries)."""
    events: list[Record] = []
    first_process = 0
    for job in jobs:
        events += _events(job, first_process)
        first_process += job.ranks
    return {"displayTimeUnit": "ms", "traceEvents": events,
            "otherData": {"made by": f"Unisono {jobs[0].version}",
                          "began": [job.began for job in jobs]}}  # fmt: skip


def _events(job: Job, first_process: int) -> list[Record]:
    tracks: _Tracks = defaultdict(list)
    for one in calls(job):
        tracks[one.rank, _BESIDE if one.beside else _CALLS].append(one)
    _thin(tracks)
    events: list[Record] = []
    for (rank, track), entries in sorted(tracks.items()):
        place = _place(first_process + rank, track)
        events += _names(job, rank, track, place)
        events += _slices(entries, place)
    return events


def _place(process: int, track: int) -> Record:
    """Numbers of processes and threads as an operating system has them: from 1, and no thread's twice. Viewers
    take the thread with the number of its process for the first one."""
    number = 1 + process
    return {"pid": number, "tid": number if track == _CALLS else _BESIDE_FROM + number}


def _thin(tracks: _Tracks) -> None:
    """Joins neighbours until the file will not be too large, or each track is one slice."""
    while sum(map(_events_of, tracks.values())) > EVENTS_AT_MOST and max(map(len, tracks.values())) > 1:
        for place, entries in tracks.items():
            tracks[place] = [_joined(entries[first : first + 2]) for first in range(0, len(entries), 2)]


def _has_slices_below(one: Calls) -> bool:
    return one.count == 1 and one.moves_data


def _events_of(entries: list[Calls]) -> int:
    return sum(1 + _has_slices_below(one) * len(one.phases) for one in entries)


def _joined(pair: list[Calls]) -> Calls:
    first, last = pair[0], pair[-1]
    if first is last:
        return first
    phases: dict[str, float] = defaultdict(float)
    for phase, seconds in [*first.phases, *last.phases]:
        phases[phase] += seconds
    return Calls(first.rank, first.begin_s, max(first.end_s, last.end_s), first.what if first.what == last.what else "calls",
                 first.file if first.file == last.file else "several", first.count + last.count,
                 first.bytes + last.bytes, list(phases.items()), first.beside)  # fmt: skip


def _names(job: Job, rank: int, track: int, place: Record) -> list[Record]:
    def name(what: str, **arguments: Any) -> Record:
        return {"ph": "M", "name": what, "args": arguments, **place}

    program = f"{job.program['name']} " if job.program["name"] else ""
    return [name("process_name", name=f"{program}rank {rank}"), name("process_sort_index", sort_index=place["pid"]),
            name("thread_name", name=_TRACKS[track])]  # fmt: skip


def _slices(entries: list[Calls], place: Record) -> list[Record]:
    events = []
    free_ns = 0  # clocks are rounded: slices of a track must not overlap
    for one in entries:
        begin_ns = max(free_ns, round(one.begin_s * 1e9))
        free_ns = max(begin_ns, round(one.end_s * 1e9))
        events.append(_slice(_title(one), "call", begin_ns, free_ns, place, _arguments(one)))
        if _has_slices_below(one):
            events += _phases(one, begin_ns, free_ns, place)
    return events


def _phases(one: Calls, begin_ns: int, end_ns: int, place: Record) -> list[Record]:
    events = []
    for phase, seconds in one.phases:
        until_ns = min(end_ns, begin_ns + round(seconds * 1e9))
        events.append(_slice(phase, "phase", begin_ns, until_ns, place, {}))
        begin_ns = until_ns
    return events


def _slice(name: str, category: str, begin_ns: int, end_ns: int, place: Record, arguments: Record) -> Record:
    event = {"ph": "X", "name": name, "cat": category, "ts": begin_ns / 1e3, "dur": (end_ns - begin_ns) / 1e3, **place}
    return event | {"args": arguments} if arguments else event


def _title(one: Calls) -> str:
    if one.count > 1:
        return f"{calls_of(one.count)}: {one.what}"
    return f"{one.what} {short_bytes(one.bytes)}" if one.moves_data else one.what


def _arguments(one: Calls) -> Record:
    arguments: Record = {"file": one.file, "bytes": one.bytes}
    if one.count > 1:
        arguments |= {"calls": one.count} | {f"{phase}_s": seconds for phase, seconds in one.phases}
    return arguments
