"""What a job's ranks did when, from the timelines of its reports (src/report/timeline.hpp), and the
same in cells of time for pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from .job import Job
from .report import DIRECTIONS, Record


@dataclass(frozen=True)
class Calls:
    """One call, or neighbours on one rank with what was between them. Seconds since the job began."""

    rank: int
    begin_s: float
    end_s: float
    what: str  # "write", "read", or the phase of a call that moves no data
    file: str
    count: int
    bytes: int
    phases: list[tuple[str, float]]
    beside: bool = False  # done by a thread of Unisono

    @property
    def moves_data(self) -> bool:
        return self.what in DIRECTIONS


def has_timeline(job: Job) -> bool:
    return any(record["timeline"] for record in job.records)


def calls(job: Job) -> list[Calls]:
    """Of all files, by their beginning."""
    found = [one for record in job.records for one in _of_file(record, job.began)]
    return sorted(found, key=lambda one: (one.begin_s, one.end_s))


def _of_file(record: Record, began_s: float) -> Iterator[Calls]:
    yield from _of_tracks(record["timeline"], record, began_s, "")
    for name in DIRECTIONS:
        yield from _of_tracks(record[name]["timeline"], record, began_s, name)
        yield from _of_tracks(record[name]["beside_timeline"], record, began_s, name, beside=True)


def _of_tracks(tracks: list[Record], record: Record, began_s: float, what: str, beside: bool = False) -> Iterator[Calls]:
    for track in tracks:
        for entry in track["entries"]:
            begin_s = entry["at"] - began_s
            phases = [(name, seconds) for name, seconds in entry["phases"]]
            longest = max(phases, key=lambda one: one[1], default=("other", 0.0))[0]
            yield Calls(track["rank"], begin_s, begin_s + entry["seconds"], what or longest, record["file"],
                        entry["calls"], entry["bytes"], phases, beside)  # fmt: skip


# ---- in cells ----------------------------------------------------------------------------------------


@dataclass
class Span:
    """A part of an axis, cut into equal cells."""

    begin: float
    end: float
    cells: int

    @property
    def cell(self) -> float:
        return (self.end - self.begin) / self.cells or 1.0

    def shares(self, begin: float, end: float) -> Iterator[tuple[int, float]]:
        """The cells that [begin, end) touches, with their shares of it; of an empty one the cell that it is in."""
        first = min(self.cells - 1, max(0, int((begin - self.begin) / self.cell)))
        last = min(self.cells - 1, max(first, int((end - self.begin) / self.cell)))
        whole = end - begin
        for number in range(first, last + 1):
            low, high = self.begin + number * self.cell, self.begin + (number + 1) * self.cell
            inside = min(end, high if number < last else end) - max(begin, low if number > first else begin)
            share = inside / whole if whole > 0 else 1.0
            if share > 0:
                yield number, share


Grid = dict[tuple[int, int], float]  # by row and column


@dataclass
class Busy:
    """What ranks, or groups of neighbours, spent their time on: seconds by row, column and phase."""

    time: Span
    ranks: int
    ranks_per_row: int
    seconds: dict[tuple[int, int], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def rows(self) -> int:
        return -(-self.ranks // self.ranks_per_row)

    def ranks_of(self, row: int) -> int:
        return min(self.ranks_per_row, self.ranks - row * self.ranks_per_row)

    def add(self, row: int, begin_s: float, end_s: float, phase: str, seconds: float) -> None:
        for column, share in self.time.shares(begin_s, end_s):
            cell = self.seconds[row, column]
            cell[phase] = cell.get(phase, 0.0) + share * seconds


FILE_CALL = "file calls"  # opening, syncing, closing, views: one thing in pictures


def busy(job: Job, rows_at_most: int, columns: int) -> Busy:
    """The program's own time; what threads did beside it is left out."""
    own = [one for one in calls(job) if not one.beside]
    ranks = max((one.rank for one in own), default=0) + 1
    end_s = max([job.wall_s, *(one.end_s for one in own)])
    found = Busy(Span(0.0, end_s, columns), ranks, -(-ranks // rows_at_most))
    for one in own:
        _add_calls(found, one)
    return found


def _add_calls(found: Busy, one: Calls) -> None:
    """A single call's phases follow each other; neighbours' are spread over all of their time."""
    at_s = one.begin_s
    for phase, seconds in one.phases:
        begin_s, end_s = (at_s, at_s + seconds) if one.count == 1 else (one.begin_s, one.end_s)
        found.add(one.rank // found.ranks_per_row, begin_s, end_s, phase if one.moves_data else FILE_CALL, seconds)
        at_s += seconds


@dataclass
class Heat:
    """Bytes of one direction of a file, by offset (row) and time (column)."""

    time: Span
    offset: Span
    bytes: Grid = field(default_factory=lambda: defaultdict(float))


def heat(record: Record, name: str, job: Job, rows: int, columns: int) -> Heat | None:
    """None where nothing was accessed, or no timeline was kept."""
    entries = [entry for track in record[name]["accesses"] for entry in track["entries"]]
    if not entries:
        return None
    began_s = job.began
    first_s = min(entry["at"] for entry in entries) - began_s
    last_s = max(entry["at"] + entry["seconds"] for entry in entries) - began_s
    found = Heat(Span(first_s, max(last_s, first_s + 1e-6), columns),
                 Span(0, max(entry["end"] for entry in entries), rows))  # fmt: skip
    for entry in entries:
        begin_s = entry["at"] - began_s
        for column, in_time in found.time.shares(begin_s, begin_s + entry["seconds"]):
            for row, in_file in found.offset.shares(entry["begin"], entry["end"]):
                found.bytes[row, column] += entry["bytes"] * in_time * in_file
    return found


def bytes_by_aggregator(job: Job) -> dict[int, int]:
    """What each rank has moved to and from files."""
    found: dict[int, int] = defaultdict(int)
    for record in job.records:
        for name in DIRECTIONS:
            for track in record[name]["accesses"]:
                found[track["rank"]] += sum(entry["bytes"] for entry in track["entries"])
    return dict(sorted(found.items()))


def bytes_by_server(record: Record) -> list[int]:
    """Of both directions of a file; empty where its layout is not known."""
    loads = [record[name]["server_bytes"] for name in DIRECTIONS]
    return [sum(load[server] for load in loads if server < len(load)) for server in range(max(map(len, loads)))]
