"""Runs a command natively and under Unisono in turns, and says what the difference is. Knows no terminal."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import ending, places, preload, report, reports, run
from .fresh import Difference, FreshFiles
from .job import jobs_of
from .places import Failure

_MPI_NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "the MPI"}
_LAST_LINES = 12
_RUNS_FOR_A_VERDICT = 3  # with two, one run in three is as far apart by chance
_SHORT_S = 1.0
_LARGE_SPREAD = 0.2


@dataclass
class Side:
    """One way to run the command, and how long its runs took."""

    name: str
    job: preload.Job
    collected: reports.Collected | None = None  # None: without Unisono
    seconds: list[float] = field(default_factory=list)
    io_seconds: list[float] = field(default_factory=list)  # in the calls, on average over the ranks
    records: list[report.Record] = field(default_factory=list)  # of the last run


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one side is as another."""

    value: float  # of the medians
    least: float  # of single runs, each with each; the outermost tenth at either end left out
    most: float

    @property
    def clear(self) -> bool:
        return round(self.least, 2) > 1 or round(self.most, 2) < 1  # as they are shown


@dataclass
class Outcome:
    sides: list[Side]  # the native one first
    files: list[Path]
    contents: str  # "equal", or why they were not compared
    notes: list[str]


def ratio(ours: Side, theirs: Side) -> Ratio:
    value = statistics.median(theirs.seconds) / statistics.median(ours.seconds)
    single = sorted(their / our for our in ours.seconds for their in theirs.seconds)
    left_out = len(single) // 10
    return Ratio(value, single[left_out], single[-1 - left_out])


def times(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def verdict(ours: Side, theirs: Side) -> str:
    """One sentence."""
    found, runs = ratio(ours, theirs), len(ours.seconds)
    if runs < _RUNS_FOR_A_VERDICT:
        return (f"{ours.name} took {report.human_seconds(statistics.median(ours.seconds))}, {theirs.name}"
                f" {report.human_seconds(statistics.median(theirs.seconds))}; whether that is chance takes --repeats"
                f" {_RUNS_FOR_A_VERDICT} or more to tell.")  # fmt: skip
    which = f"between single runs, {runs} of each"
    if not found.clear:
        return (f"No difference beyond the spread: {ours.name} is {times(found.value)} times as fast as {theirs.name},"
                f" {times(found.least)} to {times(found.most)} {which}.")  # fmt: skip
    if found.value > 1:
        said, least, most = f"is {times(found.value)} times as fast as", found.least, found.most
    else:
        said, least, most = f"takes {times(1 / found.value)} times as long as", 1 / found.most, 1 / found.least
    return f"{ours.name} {said} {theirs.name} ({times(least)} to {times(most)} {which})."


def sides_of(command: list[str], variables: dict[str, str], mpi: str | None, strategies: list[str],
             folder: Path) -> tuple[Side, list[Side]]:  # fmt: skip
    """The side of the first run, which is not counted, and those that are compared."""
    if "--" in command and shutil.which(command[0]) is None:
        raise Failure(f"'{command[0]}' stands before the --; quote patterns: --file 'chk_*'")
    if any("libunisono-" in word for word in command):
        raise Failure("Unisono is in the command: take it out, so that one side is without it")
    collected = reports.collect_in(folder, variables)
    # Only the first run leaves traces, which tell why there is no report: measured ones run as usual.
    traces = {"UNISONO_REPORT_TRACES": str(collected.traces)}
    variables = variables | collected.variables()
    measured = {name: value for name, value in variables.items() if name not in traces}

    def side(name: str, own: dict[str, str]) -> Side:
        return Side(name, preload.rewrite(command, own, places.preload_library, mpi), collected)

    first = side("Unisono", variables)
    if not first.job.mpi:
        raise Failure("; ".join(first.job.warnings) or "nothing to compare: no program is in the command")
    if first.job.static:
        raise Failure("; ".join(first.job.warnings))
    if first.job.linked:
        raise Failure("the program is linked with Unisono: give one that is not, so that one side is without it")
    # Switched off, too, as a batch system may preload it where ranks start.
    without = preload.rewrite(command, {"UNISONO_DISABLE": "1"}, lambda _mpi: None, mpi)
    native = Side(f"{_MPI_NAMES[first.job.mpi]}'s own", without)
    chosen = [side(name, measured | {"UNISONO_STRATEGY": name}) for name in strategies]
    return first, [native, side("Unisono", measured), *chosen]


class Comparison:
    def __init__(self, files: FreshFiles, limit_s: float | None, tell: Callable[[str], None],
                 seconds_of: Callable[[str, float], float] | None = None) -> None:  # fmt: skip
        """`seconds_of`: what counts of a run, by its output and how long it took; else all of it."""
        self._files = files
        self._limit_s = limit_s
        self._tell = tell
        self._seconds_of = seconds_of
        self._varying: dict[Path, str] = {}
        self._keep: list[Path] = []
        self._told: set[str] = set()
        self._notes: list[str] = []

    def run(self, first: Side, sides: list[Side], repeats: int) -> Outcome:
        self._notes += _load()
        with run.interruptible():
            try:
                self._files.set_aside()
                self._find_files(first)
                order = itertools.chain.from_iterable(run.turns(sides, repeats))
                for number, side in enumerate(order, 1):
                    self._measure(side, sides[0], f"run {number} of {repeats * len(sides)}")
                files, contents = self._files.files(), self._contents()
            finally:
                with run.undisturbed():
                    self._files.end(self._keep)
                    for side in [first, *sides]:
                        side.job.remove_temporary()
        return Outcome(sides, files, contents, [*self._notes, *self._of_short_runs(sides), *_remarks(sides)])

    def _of_short_runs(self, sides: list[Side]) -> Iterator[str]:
        if self._seconds_of is None and statistics.median(sides[0].seconds) < _SHORT_S:
            yield "The runs are short: starting the program may be most of their time."

    def _find_files(self, first: Side) -> None:
        self._run_once(first, "first run")
        written = [record["file"] for record in first.records if report.was_used(record["write"])]
        self._files.find(written, [record["file"] for record in first.records])
        if missing := self._files.missing:
            self._notes.append(f"{missing[0]} is not there after a run, as the program calls it: if it is in another"
                               " folder or has another name by then, name it with --file.")  # fmt: skip

    def _measure(self, side: Side, reference: Side, which: str) -> None:
        self._files.make_fresh()
        side.seconds.append(self._run_once(side, which))
        if side.collected:
            side.io_seconds.append(jobs_of(side.records, side.seconds[-1])[0].io_s)
        new = [found for found in self._files.compare() if found.file not in self._varying]
        if new:
            self._look_closer([self._files.keep(found, _slug(side.name)) for found in new], side, reference)

    def _look_closer(self, found: list[Difference], side: Side, reference: Side) -> None:
        """Whether contents differ because of how they were written, or do so in any two runs."""
        self._files.make_fresh()
        self._run_once(reference, "once more, as contents differ")
        again = self._files.compare()
        varying = {difference.file for difference in again}
        names_vary = any(difference.offset is None for difference in again)
        for difference in found:
            if difference.file not in varying and not (names_vary and difference.offset is None):
                self._fail(difference, side, reference)
            self._varying[difference.file] = difference.said

    def _fail(self, difference: Difference, side: Side, reference: Side) -> None:
        said = difference.said
        if difference.offset is None:
            said = f"{difference.file} is there after runs by {(side if difference.there else reference).name} only"
        text = f"CONTENTS DIFFER between {reference.name} and {side.name}: {said}"
        if difference.reference and difference.other:
            self._keep = [difference.reference, difference.other]
            text += f". Both were kept: cmp -l {difference.reference} {difference.other}"
        raise Failure(text, 1)

    def _contents(self) -> str:
        files = self._files.files()
        if not files:
            return "not compared: the program leaves no file"
        compared = self._files.compared()
        equal = [path for path in compared if path not in self._varying]
        reasons = []
        if once := [path for path in files if path not in compared and path not in self._varying]:
            reasons.append(f"{once[0]} is not there after other runs (name such files with --file and a pattern)")
        if self._varying:
            reasons.append(f"two runs of the same kind differ as well ({next(iter(self._varying.values()))})")
        if not reasons:
            return "equal"
        said = "; ".join(reasons)
        return f"equal in {report.counted(len(equal), 'file')}; else {said}" if equal else f"not comparable: {said}"

    def _run_once(self, side: Side, which: str) -> float:
        began = time.monotonic()
        try:
            code, output = run.run_with_limit(side.job.command, self._limit_s)
        except OSError as error:
            raise Failure(f"{side.job.command[0]}: {error.strerror}", 126) from error
        took_s = time.monotonic() - began
        what = f"{which} ({side.name})"
        last = "".join(f"\n    {line}" for line in output.strip().splitlines()[-_LAST_LINES:])
        if code is None:
            raise Failure(f"{what} did not end within {self._limit_s:g} s and was ended{last and ':' + last}", 1)
        ended = run.Ending(128 - code if code < 0 else code)
        if code != 0:
            raise Failure(f"{what} {ending.describe(ended)}{last and ':' + last}", 1)
        if side.collected:
            side.records = side.collected.records()
            if not side.records:
                why = "; ".join(ending.marks(side.collected.traces)) or ending.why_nothing(ended, side.job.static)
                raise Failure(f"{what}: nothing to compare: {why}", 1)
        self._pass_on(output)
        seconds = self._seconds_of(output, took_s) if self._seconds_of else took_s
        self._tell(f"{what}: {report.human_seconds(seconds)}")
        return seconds

    def _pass_on(self, output: str) -> None:
        """What the library has to say, each line once."""
        for line in output.splitlines():
            if line.startswith("unisono: ") and line not in self._told:
                self._told.add(line)
                self._tell(line.removeprefix("unisono: "))


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).lower()


def _load() -> list[str]:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load <= cores / 2:
        return []
    return [f"The machine was busy when this began: a load of {load:.1f} on {report.counted(cores, 'core')}."]


def _spread(side: Side) -> float:
    return (max(side.seconds) - min(side.seconds)) / statistics.median(side.seconds)


def _remarks(sides: list[Side]) -> Iterator[str]:
    widest = max(sides, key=_spread)
    if _spread(widest) > _LARGE_SPREAD:
        yield (f"Runs of the same kind differ by up to {_spread(widest):.0%} ({widest.name}): more --repeats or a"
               " quieter machine tell more.")  # fmt: skip
    for side in sides:
        yield from _of_records(side)


def _of_records(side: Side) -> Iterator[str]:
    used = [name for record in side.records for part in ("write", "read") for name in record[part]["strategies"]]
    if used and used[0] != side.name:
        yield f"{side.name} chose {', '.join(dict.fromkeys(used))}."
    for record in side.records:
        if record["left_alone"]:
            yield f"{side.name}: {record['file']} was left to the MPI library: {record['left_alone']}."
        for name in ("write", "read"):
            for strategy, refused in record[name]["refusals"].items():
                calls = report.counted(refused["calls"], f"{name} call")
                yield f"{side.name}: {calls} could not be done by {strategy}: {', '.join(refused['why'])}."
