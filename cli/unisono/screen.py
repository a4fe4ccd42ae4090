"""The report of a job, on one screen."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from .causes import Cause, causes
from .job import Job
from .report import (
    DIRECTIONS,
    Record,
    calls_of,
    counted,
    short_bytes,
    human_seconds,
    phases,
    size_range,
)

WIDEST = 80  # of a terminal; longer lines are hard to read
_INDENT = 9
_LINES = 40
_FILES_AT_MOST = 10  # and fewer where they would not fit on the screen, but not fewer than
_FILES_AT_LEAST = 4
_CAUSES_AT_MOST = 4
_ERRORS_AT_MOST = 3
_REASONS_AT_MOST = 2
_SIZES_AT_MOST = 6
_WAYS_AT_MOST = 4
_WORTH_SHARE = 0.05  # of the program's time: less is not worth tuning
_WORTH_S = 0.1
_ROW_SHARE = 0.03  # of the time of I/O: a smaller part has no line of its own
_REST_SHARE = 0.005  # that is: 0%
_UNEVEN = 1.2

# What the phases of data calls, and of others, are called in the table of times.
PHASE_LABELS = {
    "direction": {
        "arrival": "waiting for the last rank to come",
        "waiting": "waiting for ranks within calls",
        "exchange": "messages between nodes",
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


def show(job: Job, console: Console) -> None:
    width = min(console.width, WIDEST)
    found = causes(job) if _is_worth_tuning(job) else []
    before = [_verdict(job, found, width), _program(job, width), _times(job), _advice(found, width)]
    sections = [list(lines) for lines in [*before, _errors(job, width)]]
    room = _LINES - sum(len(lines) + 1 for lines in sections if lines)
    sections.insert(len(before), list(_top_files(job, width, room)))
    for lines in filter(None, sections):
        for line in lines:
            console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)
        console.print()


def _paragraph(label: str, text: str, width: int) -> list[str]:
    """With a label in the margin."""
    return textwrap.wrap(text, width, initial_indent=label.ljust(_INDENT), subsequent_indent=" " * _INDENT,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip


# ---- the verdict -------------------------------------------------------------------------------------


def _is_worth_tuning(job: Job) -> bool:
    return job.io_s >= _WORTH_S and job.io_s >= _WORTH_SHARE * job.wall_s


def _of_the_wall(job: Job) -> str:
    """ "12 of 61 s (20%)": what a rank spent on I/O."""
    spent, wall = human_seconds(job.io_s), human_seconds(job.wall_s)
    if job.wall_s <= 0:
        return spent
    if all(len(words := text.split()) == 2 and words[1] == "s" for text in (spent, wall)):
        spent = spent.removesuffix(" s")
    return f"{spent} of {wall} ({job.io_s / job.wall_s:.0%})"


def _judgement(job: Job, found: list[Cause]) -> str:
    if all(record["left_alone"] for record in job.records):
        return f"The MPI library did all calls by itself: {_left_alone(job)}."
    if not job.used():
        return f"No data were read or written; opening and closing took {_of_the_wall(job)}."
    took = f"I/O took {_of_the_wall(job)}"
    if not _is_worth_tuning(job):
        return f"{took}: not worth tuning."
    if not found:
        return f"{took}."
    return f"{took}; {human_seconds(found[0].seconds)} of it {found[0].brief}."


def _trouble(job: Job) -> Iterator[str]:
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


def _verdict(job: Job, found: list[Cause], width: int) -> Iterator[Text]:
    for line in textwrap.wrap(_judgement(job, found), width):
        yield Text(line, style="bold")
    for sentence in _trouble(job):
        for line in textwrap.wrap(sentence, width):
            yield Text(line, style="yellow")


# ---- what the program is, and what it asked for ------------------------------------------------------


def _where(job: Job) -> str:
    text = counted(job.ranks, "rank")
    if job.nodes:
        text += f" on {counted(job.nodes, 'node')}"
    if job.cores:
        text += f" with {counted(job.cores, 'core')}" + (" each" if job.nodes > 1 else "")
    return text


def _program(job: Job, width: int) -> Iterator[str]:
    yield from _setting(job, width)
    yield from _files(job, width)
    yield from _data(job, width)


def _setting(job: Job, width: int) -> Iterator[str]:
    parts = [f"{job.program['name']}: {_where(job)}" if job.program["name"] else _where(job),
             ", ".join(text for text in (job.program["mpi"], f"Unisono {job.version}") if text)]  # fmt: skip
    yield from _paragraph("Program", "; ".join(parts), width)
    if settings := job.distinct("settings"):
        yield from _paragraph("Set", ", ".join(settings), width)


def _joined(texts: list[str], at_most: int = _REASONS_AT_MOST) -> str:
    more = f"; and {len(texts) - at_most:,} more" if len(texts) > at_most else ""
    return "; ".join(texts[:at_most]) + more


def _left_alone(job: Job) -> str:
    return _joined(job.distinct("left_alone"))


def _access(job: Job) -> str:
    """How most files were accessed, and where their bytes are."""
    ways = [(record["backend"], record["backend_why"], record["layout"]) for record in job.records if record["backend"]]
    if not ways:
        return ""
    (backend, why, layout), count = max(((way, ways.count(way)) for way in set(ways)), key=lambda one: one[1])
    text = f"through {backend}" + (f" ({why})" if why else "") + (f", {layout}" if layout else "")
    return text if count == len(ways) else f"{text}, {len(ways) - count:,} otherwise"


def _files(job: Job, width: int) -> Iterator[str]:
    names = job.distinct("file")
    text = names[0] if len(names) == 1 else f"{len(names):,} files"
    if len(job.records) > len(names):
        text += f", opened {counted(len(job.records), 'time')}" + (" in all" if len(names) > 1 else "")
    if access := _access(job):
        text += f"; {access}"
    aggregators = max(record["aggregators"] for record in job.records)
    if aggregators:
        text += f"; {counted(aggregators, 'aggregator')}"
    yield from _paragraph("File" if len(names) == 1 else "Files", text, width)
    alone = [record for record in job.records if record["left_alone"]]
    if alone and len(alone) < len(job.records):
        yield from _paragraph("", f"{counted(len(alone), 'file')} left to the MPI library:"
                              f" {_left_alone(job)}", width)  # fmt: skip
    if notes := job.distinct("notes"):
        yield from _paragraph("Note", _joined(notes), width)


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
    """Where one rank has much more to read or write than the mean."""
    shared = [record for record in job.records if record["ranks"] > 1 and record["ranks"] == record["opened_by"]]
    asked = sum(record[name]["bytes"]["asked"] / record["ranks"] for record in shared)
    ratio = sum(record[name]["bytes"]["most"] for record in shared) / asked if asked else 1
    return f"the busiest rank has {ratio:.1f} times the mean" if ratio >= _UNEVEN else ""


def _strategies(job: Job, name: str) -> Iterator[str]:
    for strategy, use in job.uses(name, "strategies").items():
        yield f"by {strategy} in {calls_of(use['calls'])}" + (f" ({_joined(use['why'])})" if use["why"] else "")
    for strategy, use in job.uses(name, "refusals").items():
        yield f"not by {strategy}, which was asked for, in {calls_of(use['calls'])} ({_joined(use['why'])})"


def _measured(job: Job, name: str) -> Iterator[str]:
    for record in job.records:
        for selection in record[name]["selections"]:
            if len(selection["tried"]) < 2:
                continue
            lost = human_seconds(selection["examination_seconds"])
            yield f"measured: {selection['winner']} won, {selection['why']}; trying others took {lost}"


def _data(job: Job, width: int) -> Iterator[str]:
    for name in job.used():
        asked, spent_s = job.total(name, "bytes/asked"), job.direction_s(name)
        rate = f" at {short_bytes(asked / spent_s)}/s" if spent_s > 0 else ""
        calls = _calls(job, name)
        what = f"{short_bytes(asked)}{rate}, in {calls}" if calls else "nothing: all calls failed"
        first = [what, _sizes(job, name), _busiest(job, name)]
        yield from _paragraph("Wrote" if name == "write" else "Read", "; ".join(filter(None, first)), width)
        for way in [*_strategies(job, name), *dict.fromkeys(_measured(job, name))][:_WAYS_AT_MOST]:
            yield from _paragraph("", way, width)


# ---- time --------------------------------------------------------------------------------------------


@dataclass
class _Row:
    label: str
    spent: dict[str, float]  # by direction; "" are calls that move no data

    @property
    def whole(self) -> float:
        return sum(self.spent.values())


def _time_rows(job: Job) -> Iterator[_Row]:
    for phase in phases("direction"):
        yield _Row(PHASE_LABELS["direction"][phase], {name: job.seconds[name, phase] for name in DIRECTIONS})
    for phase in phases("file"):
        yield _Row(PHASE_LABELS["file"][phase], {"": job.seconds["", phase]})


def _sum_of(rows: list[_Row], label: str) -> _Row:
    return _Row(label, {name: sum(row.spent.get(name, 0.0) for row in rows) for name in (*DIRECTIONS, "")})


def _times(job: Job) -> Iterator[str]:
    whole = job.io_s
    rows = [row for row in _time_rows(job) if row.whole > 0]
    if not rows:
        return
    large = [row for row in rows if row.whole >= _ROW_SHARE * whole]
    rest = _sum_of([row for row in rows if row not in large], "all else")
    large.sort(key=lambda row: -row.whole)
    if rest.whole >= _REST_SHARE * whole:
        large.append(rest)
    used = job.used()
    heads = [*({"write": "writing", "read": "reading"}[name] for name in used), "in all"]
    yield f"{'Time of a rank, on average':36}" + "".join(f"{head:>11}" for head in heads)
    for row in [*large, _sum_of(rows, "I/O")]:
        cells = [human_seconds(spent) if (spent := row.spent.get(name, 0.0)) > 0 else "" for name in used]
        cells.append(human_seconds(row.whole))
        yield f"  {row.label:34}" + "".join(f"{cell:>11}" for cell in cells) + f"{row.whole / whole:>6.0%}"


# ---- causes, files, errors ---------------------------------------------------------------------------


def _advice(found: list[Cause], width: int) -> Iterator[str]:
    if not found:
        return
    yield "What cost most, and what to change"
    for cause in found[:_CAUSES_AT_MOST]:
        margin = f"{human_seconds(cause.seconds):>9}  "
        rest = " " * len(margin)
        yield from textwrap.wrap(cause.evidence, width, initial_indent=margin, subsequent_indent=rest,
                                 break_on_hyphens=False, break_long_words=False)  # fmt: skip
        if cause.change:
            yield from textwrap.wrap(f"-> {cause.change}", width, initial_indent=rest, subsequent_indent=f"{rest}   ",
                                     break_on_hyphens=False, break_long_words=False)  # fmt: skip


def _shortened(name: str, room: int) -> str:
    """The end of a name tells more than its beginning."""
    return name if len(name) <= room else f"...{name[3 - room :]}"


@dataclass
class _FileRow:
    name: str
    seconds: float = 0.0
    written: int = 0
    read: int = 0
    failed: int = 0

    def add(self, job: Job, record: Record) -> None:
        self.seconds += sum(job.seconds_of(record).values())
        self.written += record["write"]["bytes"]["asked"]
        self.read += record["read"]["bytes"]["asked"]
        self.failed += len(record["errors"])

    def line(self, name: str) -> str:
        cells = [short_bytes(count) if count else "" for count in (self.written, self.read)]
        mark = " (errors)" if self.failed else ""
        return f"{human_seconds(self.seconds):>11}{cells[0]:>12}{cells[1]:>12}  {name}{mark}"


def _top_files(job: Job, width: int, room: int) -> Iterator[str]:
    """`room`: lines, as far as that is enough."""
    rows: dict[str, _FileRow] = {}
    for record in job.records:
        rows.setdefault(record["file"], _FileRow(record["file"])).add(job, record)
    if len(rows) < 2:
        return
    ordered = sorted(rows.values(), key=lambda row: -row.seconds)
    folder = os.path.commonpath([os.path.dirname(name) for name in rows]) if _in_one_kind_of_place(rows) else ""
    where = f" in {_shortened(folder, width - 46)}/" if len(folder) > 1 else ""
    yield f"{'time':>11}{'written':>12}{'read':>12}  file{where}"
    shown = min(_FILES_AT_MOST, max(_FILES_AT_LEAST, room - 3))  # and the head, the rest, a blank line
    for row in ordered[:shown]:
        name = os.path.relpath(row.name, folder) if len(folder) > 1 else row.name
        yield row.line(_shortened(name, width - 37 - 9 * bool(row.failed)))
    if rest := ordered[shown:]:
        yield _total(rest).line(f"{len(rest):,} more (--files shows all)")


def _in_one_kind_of_place(names: dict[str, _FileRow]) -> bool:
    return len({os.path.isabs(name) for name in names}) == 1


def _total(rows: list[_FileRow]) -> _FileRow:
    return _FileRow("", sum(row.seconds for row in rows), sum(row.written for row in rows),
                    sum(row.read for row in rows))  # fmt: skip


def _errors(job: Job, width: int) -> Iterator[Text]:
    errors = job.distinct("errors")
    if not errors:
        return
    yield Text("Errors", style="yellow")
    for error in errors[:_ERRORS_AT_MOST]:
        for line in textwrap.wrap(error, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False):
            yield Text(line)
    if len(errors) > _ERRORS_AT_MOST:
        yield Text(f"  and {len(errors) - _ERRORS_AT_MOST:,} more (--files shows all)")
