"""What is said of a job, in the order in which it is said: sentences and rows. Knows no terminal: screen.py
and html_report.py show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from .causes import Cause, causes
from .job import UNEVEN, Job
from .report import (
    DIRECTIONS, Record, calls_of, counted, done_bytes, fields, human_seconds, phases, short_bytes, size_range,
)  # fmt: skip

_REASONS_AT_MOST = 2
_SIZES_AT_MOST = 6
_WAYS_AT_MOST = 4
_ROW_SHARE = 0.03  # of the time of I/O: a smaller part has no line of its own
_REST_SHARE = 0.005  # that is: 0%

# What the phases of data calls, and of others, are called in the table of times.
PHASE_LABELS = {
    "direction": {
        "arrival": "waiting for the last rank to come",
        "waiting": "waiting for ranks within calls",
        "exchange": "exchange between ranks",
        "copying": "copying in memory",
        "file": "file I/O",
        "native": "calls of the MPI library",
        "other": "looking at what is asked for",
    },
    "file": {
        "open": "opening files",
        "sync": "syncing",
        "close": "closing files",
        "other": "views, sizes and hints",
    },
}

# A label and what stands beside it; "" belongs to the line before.
Line = tuple[str, str]


# ---- the verdict -------------------------------------------------------------------------------------


def _is_worth_tuning(job: Job) -> bool:
    return job.is_much(job.io_s) or job.is_much(job.longest_io_s)


def _share(job: Job, spent_s: float) -> str:
    return f" ({spent_s / job.wall_s:.0%})" if job.wall_s > 0 else ""


def _of_the_wall(job: Job) -> str:
    """ "12 of 61 s (20%)": what a rank spent on I/O."""
    spent, wall = human_seconds(job.io_s), human_seconds(job.wall_s)
    if job.wall_s <= 0:
        return spent
    if all(len(words := text.split()) == 2 and words[1] == "s" for text in (spent, wall)):
        spent = spent.removesuffix(" s")
    return f"{spent} of {wall}{_share(job, job.io_s)}"


def _beside(job: Job) -> str:
    """A sentence on nonblocking and split calls, for which the program may or may not have waited."""
    if not job.is_much(job.beside_s):
        return ""
    return f" {human_seconds(job.beside_s)} more went on beside the program; its waits in MPI_Wait are not seen."


def judgement(job: Job, found: list[Cause]) -> str:
    """The verdict in a sentence; `found`: worthwhile_causes(job)."""
    if all(record["left_alone"] for record in job.records):
        return f"The MPI library did all calls by itself: {_left_alone(job)}."
    if not job.used():
        return f"No data were read or written; opening and closing took {_of_the_wall(job)}."
    took, beside = f"I/O took {_of_the_wall(job)}", _beside(job)
    if not _is_worth_tuning(job):
        return f"{took}.{beside}" if beside else f"{took}: not worth tuning."
    if not job.is_much(job.io_s):
        longest = f"{human_seconds(job.longest_io_s)}{_share(job, job.longest_io_s)}"
        return f"{took} on average, up to {longest} on single ranks.{beside}"
    if not found:
        return f"{took}.{beside}"
    return f"{took}; {human_seconds(found[0].seconds)} of it {found[0].brief}.{beside}"


def trouble(job: Job) -> Iterator[str]:
    """Sentences on calls that failed, files that were not closed, those that were faster in earlier runs, and cores
    that others had."""
    failed = sum(job.total(name, f"calls/{key}") for name in DIRECTIONS for key in ("failed", "failed_independent"))
    if failed:
        yield f"{calls_of(failed)} failed; the program was told."
    open_still = [record for record in job.records if record["unfinished"]]
    for why in dict.fromkeys(record["unfinished"] for record in open_still):
        files = counted(sum(record["unfinished"] == why for record in open_still), "file")
        yield f"Not closed ({files}): {why}."
    partial = [record for record in open_still if record["ranks"] < record["opened_by"]]
    if partial:
        ranks, opened_by = partial[0]["ranks"], counted(partial[0]["opened_by"], "rank")
        yield f"Of such files, what follows is of {ranks:,} of {opened_by}."
    yield from _slower(job)
    if job.cores_are_others:
        waited = f"{human_seconds(job.core_wait_s)}{_share(job, job.core_wait_s)}"
        yield f"Cores were scarce: a rank waited {waited} for one that other processes or threads had."


def _slower(job: Job) -> Iterator[str]:
    slower = [record for record in job.records if record.get("slower")]
    if slower:
        worst = max(slower, key=lambda record: record["slower"]["seconds"] - record["slower"]["median_seconds"])
        others = f" (and {counted(len(slower) - 1, 'more file', 'more files')})" if len(slower) > 1 else ""
        yield f"{worst['file']}{others}: {worst['slower']['said']}."


def worthwhile_causes(job: Job) -> list[Cause]:
    """None where I/O is not worth tuning."""
    return causes(job) if _is_worth_tuning(job) else []


# ---- what the program is, and what it asked for ------------------------------------------------------


def _where(job: Job) -> str:
    text = counted(job.ranks, "rank")
    if job.nodes:
        text += f" on {counted(job.nodes, 'node')}"
    if job.cores:
        text += f" with {counted(job.cores, 'core')}" + (" each" if job.nodes > 1 else "")
    return text


def lines(job: Job) -> Iterator[Line]:
    """The program, its files, what it asked for and what was done."""
    yield from _setting(job)
    yield from _files(job)
    yield from _data(job)


def _setting(job: Job) -> Iterator[Line]:
    parts = [f"{job.program['name']}: {_where(job)}" if job.program["name"] else _where(job),
             ", ".join(text for text in (job.program["mpi"], f"Unisono {job.version}") if text)]  # fmt: skip
    yield "Program", "; ".join(parts)
    if settings := job.distinct("settings"):
        yield "Set", ", ".join(settings)


def _joined(texts: list[str], at_most: int = _REASONS_AT_MOST) -> str:
    more = f"; and {len(texts) - at_most:,} more" if len(texts) > at_most else ""
    return "; ".join(texts[:at_most]) + more


def _left_alone(job: Job) -> str:
    return _joined(job.distinct("left_alone"))


def _access(job: Job) -> str:
    """How most files were accessed, and where their bytes are."""
    ways = Counter((record["backend"], record["backend_why"]) for record in job.records if record["backend"])
    if not ways:
        return ""
    (backend, why), count = ways.most_common(1)[0]
    text = f"through {backend}" + (f" ({why})" if why else "")
    # Nobody asks for the layout of a file without collective calls.
    layouts = {record["layout"] for record in job.records if (record["backend"], record["backend_why"]) == (backend, why)}
    layouts.discard("")
    if layouts:
        text += f", {layouts.pop() if len(layouts) == 1 else f'{len(layouts):,} layouts'}"
    others = ways.total() - count
    return f"{text}, {others:,} otherwise" if others else text


def _openers(job: Job) -> str:
    """Empty where some file was opened by all ranks."""
    fewest, most = (choose(record["opened_by"] for record in job.records) for choose in (min, max))
    if most == job.ranks:
        return ""
    number = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"by {number} of {counted(job.ranks, 'rank')}"


def _files(job: Job) -> Iterator[Line]:
    names = job.distinct("file")
    text = names[0] if len(names) == 1 else f"{len(names):,} files"
    openers = _openers(job)
    if len(job.records) > len(names):
        text += f", opened {counted(len(job.records), 'time')}" + (" in all" if len(names) > 1 else "")
        text += f", each {openers}" if openers else ""
    elif openers:
        text += f", {'each ' if len(names) > 1 else ''}opened {openers}"
    if access := _access(job):
        text += f"; {access}"
    aggregators = max(record["aggregators"] for record in job.records)
    if aggregators:
        text += f"; {counted(aggregators, 'aggregator')}"
    yield "File" if len(names) == 1 else "Files", text
    alone = [record for record in job.records if record["left_alone"]]
    if alone and len(alone) < len(job.records):
        yield "", f"{counted(len(alone), 'file')} left to the MPI library: {_left_alone(job)}"
    if notes := job.distinct("notes"):
        yield "Note", _joined(notes)


def _rank_calls(job: Job, name: str) -> int:
    return sum(record[name]["calls"]["collective"] * record["ranks"] for record in job.records)


def _calls(job: Job, name: str) -> str:
    collective, independent = (job.total(name, f"calls/{kind}") for kind in ("collective", "independent"))
    native = job.tally(name, "calls/native") + job.tally(name, "calls/native_independent")
    asked = job.total(name, "bytes/asked") - (job.total(name, "bytes/native") if native else 0)
    parts = [counted(collective, "collective call")] if collective else []
    if collective and not independent:
        parts[0] += f", {short_bytes(asked / _rank_calls(job, name))} per rank and call"
    if independent:
        size = "" if collective else f" of {short_bytes(asked / independent)}"
        parts.append(counted(independent, "independent call") + size)
    if native:
        reasons = [f"{reason}: {count:,}" if len(native) > 1 else reason for reason, count in native.most_common()]
        parts.append(f"{calls_of(native.total())} left to the MPI library ({_joined(reasons)})")
    return ", and ".join(parts)


def _sizes(job: Job, name: str) -> str:
    """The pieces of the program, by size."""
    sizes, pieces = job.piece_sizes(name), job.total(name, "pieces")
    if not pieces:
        return ""
    if len(sizes) <= 1:
        own = job.total(name, "bytes/asked") - job.total(name, "bytes/native")
        return f"{counted(pieces, 'piece')} of {short_bytes(own / pieces)}"
    common = sorted(sorted(sizes, key=lambda size: -sizes[size])[:_SIZES_AT_MOST])
    listed = [f"{sizes[size]:,} of {size_range(size)}" for size in common]
    others = sum(sizes.values()) - sum(sizes[size] for size in common)
    return f"{counted(pieces, 'piece')}: " + ", ".join(listed) + (f", {others:,} of others" if others else "")


def _busiest(job: Job, name: str) -> str:
    """In each file it may be another one."""
    ratio, of_a_file = job.busiest(name), " of a file" if len(job.shared_by_ranks(name)) > 1 else ""
    return f"the busiest rank{of_a_file} has {ratio:.1f} times the mean" if ratio >= UNEVEN else ""


def _strategies(job: Job, name: str) -> Iterator[str]:
    for strategy, use in job.uses(name, "strategies").items():
        yield f"by {strategy} in {calls_of(use['calls'])}" + (f" ({_joined(use['why'])})" if use["why"] else "")


def _refusals(job: Job, name: str) -> Iterator[str]:
    for strategy, use in job.uses(name, "refusals").items():
        yield f"not by {strategy}, which was asked for, in {calls_of(use['calls'])} ({_joined(use['why'])})"


def _measured(job: Job, name: str) -> Iterator[str]:
    for selection in job.selections(name):
        if len(selection["tried"]) < 2:
            continue
        lost = human_seconds(selection["examination_seconds"])
        yield f"measured: {selection['winner']} won, {selection['why']}; trying others took {lost}"


def _ways(job: Job, name: str) -> list[str]:
    """Of many strategies those that did most calls."""
    strategies = list(_strategies(job, name))
    others = [*_refusals(job, name), *dict.fromkeys(_measured(job, name))]
    return [*strategies[: max(1, _WAYS_AT_MOST - len(others))], *others][:_WAYS_AT_MOST]


def _data(job: Job) -> Iterator[Line]:
    for name in job.used():
        asked, spent_s = job.total(name, "bytes/asked"), job.direction_s(name)
        done = sum(done_bytes(record[name]) for record in job.records)
        rate = f" at {short_bytes(done / spent_s)}/s" if spent_s > 0 else ""
        rate += f" of {short_bytes(asked)} asked for" if done < asked else ""
        calls = _calls(job, name)
        what = f"{short_bytes(done)}{rate}, in {calls}" if calls else "nothing: all calls failed"
        first = [what, _sizes(job, name), _busiest(job, name)]
        yield "Wrote" if name == "write" else "Read", "; ".join(filter(None, first))
        for way in _ways(job, name):
            yield "", way


# ---- time --------------------------------------------------------------------------------------------


@dataclass
class Row:
    """Seconds of a rank, on average."""

    label: str
    spent: dict[str, float]  # by direction; "" are calls that move no data

    @property
    def whole(self) -> float:
        return sum(self.spent.values())


def _all_rows(job: Job) -> Iterator[Row]:
    for phase in phases("direction"):
        yield Row(PHASE_LABELS["direction"][phase], {name: job.seconds[name, phase] for name in DIRECTIONS})
    for phase in phases("file"):
        yield Row(PHASE_LABELS["file"][phase], {"": job.seconds["", phase]})


def _sum_of(rows: list[Row], label: str) -> Row:
    return Row(label, {name: sum(row.spent.get(name, 0.0) for row in rows) for name in (*DIRECTIONS, "")})


def time_rows(job: Job) -> list[Row]:
    """By phase, what takes most first, small ones as one, and their sum; none where no time was spent."""
    rows = [row for row in _all_rows(job) if row.whole > 0]
    if not rows:
        return []
    large = [row for row in rows if row.whole >= _ROW_SHARE * job.io_s]
    rest = _sum_of([row for row in rows if row not in large], "all else")
    large.sort(key=lambda row: -row.whole)
    return [*large, *([rest] if rest.whole >= _REST_SHARE * job.io_s else []), _sum_of(rows, "I/O")]


# ---- files -------------------------------------------------------------------------------------------


@dataclass
class FileRow:
    """What all opens of one file come to."""

    name: str
    seconds: float = 0.0
    written: int = 0
    read: int = 0
    failed: int = 0

    def add(self, job: Job, record: Record) -> None:
        self.seconds += sum(job.seconds_of(record).values())
        self.written += done_bytes(record["write"])
        self.read += done_bytes(record["read"])
        self.failed += len(record["errors"])


def file_rows(job: Job) -> list[FileRow]:
    """Those that took longest first."""
    rows: dict[str, FileRow] = {}
    for record in job.records:
        rows.setdefault(record["file"], FileRow(record["file"])).add(job, record)
    return sorted(rows.values(), key=lambda row: -row.seconds)


def total(rows: list[FileRow]) -> FileRow:
    return FileRow("", sum(row.seconds for row in rows), sum(row.written for row in rows),
                   sum(row.read for row in rows))  # fmt: skip


# ---- all of it ---------------------------------------------------------------------------------------


def _time_json(row: Row) -> Record:
    spent = {name or "other": row.spent.get(name, 0.0) for name in (*DIRECTIONS, "")}
    return {"label": row.label, **spent, "whole": row.whole}


def _job_json(job: Job) -> Record:
    found = worthwhile_causes(job)
    return {
        "name": job.program["name"], "ranks": job.ranks, "nodes": job.nodes, "cores": job.cores,
        "began": job.began, "seconds": job.wall_s, "io_seconds": job.io_s,
        "verdict": judgement(job, found), "trouble": list(trouble(job)),
        "said": [list(line) for line in lines(job)],
        "time": [_time_json(row) for row in time_rows(job)],
        "causes": [asdict(cause) for cause in found],
        "files": job.records,
    }  # fmt: skip


def as_json(jobs: list[Job]) -> Record:
    """For programs; schema.py describes it."""
    return {"format": fields()["format"], "unisono_version": jobs[-1].version,
            "programs": [_job_json(job) for job in jobs]}  # fmt: skip
