#!/usr/bin/python3
"""Measures Unisono against the MPI libraries' own collective I/O, and contiguous POSIX calls.

All sides take turns, pattern by pattern, in one run under one lock, so that drift of the machine
hits them alike. bench/README.md explains the columns. The exit code is 1 if a measurement of
Unisono or of the POSIX side failed (wrong contents, error, hang); missed targets do not count.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import json
import math
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import TextIO

import environment
import nodes
import sides
import table
from applications import APPLICATIONS, cells_of
from applications import MODES as APPLICATION_MODES
from cells import Cell, clearly_below_own_default, target_checks
from papers import testbed
from sides import CORES, LaunchError, Side, Tools

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = tuple(table.MODE_LETTERS)
PATTERNS = ("contiguous", "strided-64", "strided-1k", "strided-4k", "strided-64k", "strided-1m",
            "tile", "block-3d", "noncontig", "hpio-64", "hpio-1k", "irregular", "memory-24",
            "calls-contiguous", "calls-strided", "ior-hard", "lattice")
PROFILES = sorted(path.stem for path in (ROOT / "testbed/profiles").glob("*.json"))
RANKS = (CORES, 2 * CORES)
FULL_RANKS = (*RANKS, 4 * CORES)
KEEPING = (sides.BEHIND, "view_based")  # may leave what was written in memory until the close


@dataclasses.dataclass(frozen=True)
class Group:
    """What is measured side by side: one pattern, or application, in some modes."""

    ranks: int
    directory: pathlib.Path
    pattern: str
    modes: tuple[str, ...]


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [side.name for side in sides.SIDES]
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=ROOT / "build", help="where everything was built")
    add("--patterns", type=list_of((*PATTERNS, *APPLICATIONS)), default=PATTERNS,
        help=f"{', '.join(PATTERNS)}; and applications: {', '.join(APPLICATIONS)}")
    add("--modes", type=list_of(MODES), help=f"{', '.join(MODES)} (default: see bench/README.md)")
    add("--sides", type=list_of(names), default=names, help=", ".join(names))
    add("--ranks", type=_whole_numbers, help="e.g. 4,8 (default: one on each core, and two)")
    add("--bytes", type=count, default=64 << 20, help="of all ranks together (default 64 MiB)")
    add("--alternations", type=count, default=4, help="how often all sides take turns (default 4)")
    add("--minutes", type=float,
        help="after so long, end with what there is, but with one alternation at least (default 28;"
             " with --full: no limit)")
    add("--repeats", type=count, default=2, help="measurements in each turn (default 2)")
    add("--limit", type=float, default=1.0, metavar="SECONDS",
        help="no second repeat within a turn after so much measured time (default 1)")
    add("--directory", type=pathlib.Path, action="append", dest="directories",
        help="where to put the file; repeatable (default: /dev/shm and BUILD)")
    add("--json", type=pathlib.Path, help="result file (default BUILD/bench.json)")
    add("--strategy", default=(), type=lambda text: tuple(text.split(",")), dest="strategies",
        metavar="A,B", help="UNISONO_STRATEGY on Unisono's sides; several: a side for each; `behind`: write-behind"
        " and read-ahead enabled")
    add("--write-only", action="store_true", help="open what is written with MPI_MODE_WRONLY, not MPI_MODE_RDWR")
    add("--select", default="", help="UNISONO_SELECT on Unisono's sides: auto, rule, measured, orthrus")
    add("--nodes", type=int, default=0,
        help="pretend that the ranks are on so many nodes, on Unisono's sides")
    add("--cluster", type=int, default=0, metavar="NODES",
        help="measure on a pocket cluster and a pocket file system (emulated; needs root)")
    add("--rate", type=_rate, default="1gbit", help="of each link of the cluster (default 1gbit)")
    add("--profile", choices=PROFILES, default="instant", metavar="NAME", help="what the cluster's servers and"
        f" their own links are like (default instant): {', '.join(PROFILES)}")
    add("--layout", default="", help="UNISONO_LAYOUT on Unisono's sides, for strategies that need"
        " one, e.g. stripe_bytes=64K,servers=4")
    add("--timeout", type=float, default=300.0, metavar="SECONDS", help="of one turn of one side")
    add("--lock", type=pathlib.Path, default=default_lock(),
        help="lock file that keeps others from measuring meanwhile (UNISONO_TIMING_LOCK)")
    add("--full", action="store_true",
        help="every mode in every directory, also with four ranks on each core")
    return _completed(parser.parse_args(words))


def _completed(arguments: argparse.Namespace) -> argparse.Namespace:
    """Puts in the defaults that depend on other arguments."""
    arguments.build = arguments.build.resolve()
    if arguments.cluster:
        arguments.ranks = arguments.ranks or (2 * arguments.cluster,)
        arguments.modes = arguments.modes or ("overwrite", "read")
    arguments.ranks = arguments.ranks or (FULL_RANKS if arguments.full else RANKS)
    arguments.directories = arguments.directories or [pathlib.Path("/dev/shm"), arguments.build]
    if arguments.minutes is None:
        arguments.minutes = math.inf if arguments.full else 28.0
    arguments.json = arguments.json or arguments.build / "bench.json"
    return arguments


def default_lock() -> pathlib.Path:
    return pathlib.Path(os.environ.get("UNISONO_TIMING_LOCK")
                        or pathlib.Path(tempfile.gettempdir(), "unisono-timing.lock"))


def list_of(known):
    def parse(text: str) -> tuple[str, ...]:
        chosen = tuple(filter(None, text.split(",")))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown {name!r}, use {', '.join(known)}")
        if not chosen:
            raise argparse.ArgumentTypeError(f"it names none, use {', '.join(known)}")
        return chosen
    return parse


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def _rate(text: str) -> str:
    try:
        nodes.payload_per_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _whole_numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("ranks are counted from 1")
    return numbers


def modes_for(file_system: str, full: bool) -> tuple[str, ...]:
    """The default modes. On tmpfs a sync does nothing; on a disk overwrites and reads of cached
    files measure the same memory copies as on tmpfs."""
    if full:
        return MODES
    return ("fresh", "overwrite", "read") if file_system == "tmpfs" else ("fresh", "sync")


def groups_of(arguments: argparse.Namespace) -> list[Group]:
    groups = []
    for ranks in arguments.ranks:
        for directory in arguments.directories:
            modes = arguments.modes or modes_for(environment.file_system_of(directory),
                                                 arguments.full)
            groups += [Group(ranks, directory, pattern, APPLICATION_MODES if pattern in APPLICATIONS else modes)
                       for pattern in arguments.patterns]
    return groups


def reason_not_to_begin(arguments: argparse.Namespace) -> str:
    """What would end the run later, after it has measured for a while; empty if nothing is known."""
    if arguments.cluster:
        if why := testbed.reason_without_cluster() or testbed.reason_to_skip(arguments.build):
            return why
    for folder in (arguments.json.parent, *([] if arguments.cluster else arguments.directories)):
        if not folder.is_dir():
            return f"{folder} is not a folder"
    return ""


def usable_sides(names: tuple[str, ...], tools: Tools) -> list[Side]:
    """The chosen sides that can run; says which ones cannot, and why."""
    usable = []
    for side in sides.SIDES:
        if side.name not in names:
            continue
        if why := tools.missing_for(side):
            print(f"skipped: {side.name} ({side.title}): {why}")
        else:
            usable.append(side)
    return usable


def _opened(lock: pathlib.Path) -> TextIO:
    """Whoever's it is: nothing is written to it."""
    try:
        return open(lock)
    except FileNotFoundError:
        return open(lock, "a")


@contextlib.contextmanager
def timing_lock(path: pathlib.Path):
    with _opened(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for {path}: somebody else is measuring", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Progress:
    """One line that is rewritten on a terminal; one line for each group elsewhere."""

    def __init__(self, turns: int, limit_s: float):
        self.turns = turns
        self.limit_s = limit_s
        self.done = 0
        self.start_s = time.monotonic()
        self.terminal = sys.stdout.isatty()

    def begin_turn(self, group: Group, side: Side) -> None:
        if self.terminal:
            print(f"\r\033[K{self._status(group)}  {side.name}", end="", flush=True)

    def end_turn(self) -> None:
        self.done += 1

    def end_group(self, group: Group) -> None:
        if not self.terminal:
            print(self._status(group), flush=True)

    def finish(self) -> None:
        if self.terminal:
            print("\r\033[K", end="")
        most = "" if self.done == self.turns else f", {self.done} of {self.turns} turns: there was no time for more"
        print(f"measured in {_minutes(self.spent_s())}{most}\n")

    def spent_s(self) -> float:
        return time.monotonic() - self.start_s

    def _status(self, group: Group) -> str:
        left = "?:??"
        if self.done:
            needed_s = self.spent_s() / self.done * (self.turns - self.done)
            left = _minutes(max(min(needed_s, self.limit_s - self.spent_s()), 0))
        return (f"[{self.done}/{self.turns}] {_minutes(self.spent_s())}, at most {left} left: "
                f"{group.ranks} ranks, {group.directory}, {group.pattern}")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def rotated(chosen: list[Side], by: int) -> list[Side]:
    """Every alternation begins with another side, and no side always follows the same one: on both
    sides of the first one in turn, further away each time (E. J. Williams' design)."""
    places = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(len(chosen))]
    mirrored = -1 if len(chosen) % 2 and by % 2 else 1
    return [chosen[(by + mirrored * place) % len(chosen)] for place in places]


class Measurement:
    """One run of the whole benchmark."""

    def __init__(self, arguments: argparse.Namespace, tools: Tools, chosen: list[Side]):
        self.arguments = arguments
        self.tools = tools
        self.chosen = chosen
        self.cells: list[Cell] = []
        self.complete = False

    def measure(self, groups: list[Group], save) -> None:
        """All groups once, then all again, as often as asked for and as there is time. Calls
        save() after each round, so that a run that is cut short leaves its results."""
        cells = {group: {mode: Cell(group.ranks, CORES, str(group.directory), group.pattern, mode,
                                    allowed=nodes.allowed(self.arguments, group.pattern))
                         for mode in group.modes} for group in groups}
        self.cells = [cell for members in cells.values() for cell in members.values()]
        rounds = self.arguments.alternations
        limit_s = 60 * self.arguments.minutes
        progress = Progress(rounds * len(groups) * len(self.chosen), limit_s)
        for turn in range(rounds):
            for group in groups:
                if turn > 0 and progress.spent_s() > limit_s:
                    break
                self._measure_group(group, turn, cells[group], progress)
            save()
        self.complete = progress.done == progress.turns
        progress.finish()

    def _measure_group(self, group: Group, turn: int, cells: dict[str, Cell],
                       progress: Progress) -> None:
        for side in rotated(self.chosen, turn):
            progress.begin_turn(group, side)
            absent = (group.pattern in APPLICATIONS and
                      not APPLICATIONS[group.pattern].runs_on(side, self.tools.build, group.ranks))
            if not absent and not any(side.name in cell.errors for cell in cells.values()):
                self._take_turn(group, side, cells)  # one failure is enough, it may be a hang
            progress.end_turn()
        progress.end_group(group)

    def _take_turn(self, group: Group, side: Side, cells: dict[str, Cell]) -> None:
        scratch = group.directory / f"unisono-bench-{os.getpid()}"
        report = self.tools.build / f"unisono-bench-{os.getpid()}.report"
        try:
            for mode, line in self._lines_of(group, side, scratch, report):
                cells[mode].add(side.name, line)
        except LaunchError as error:
            for cell in cells.values():
                cell.add_error(side.name, str(error))
        finally:
            scratch.unlink(missing_ok=True)
            report.unlink(missing_ok=True)

    def _lines_of(self, group: Group, side: Side, scratch: pathlib.Path,
                  report: pathlib.Path) -> list[tuple[str, dict]]:
        """Modes, and what their cells take."""
        if group.pattern in APPLICATIONS:
            command = APPLICATIONS[group.pattern].command(self.tools.build, side.mpi, scratch)
            lines = sides.launch(side, self.tools, group.ranks, command, report)
            return [cell for line in lines for cell in cells_of(line)]
        words = ["--pattern", group.pattern, "--mode", ",".join(group.modes),
                 "--path", str(scratch), "--bytes", str(self.arguments.bytes),
                 "--repeats", str(self.arguments.repeats),
                 "--limit-seconds", str(self.arguments.limit),
                 *["--write-only"] * self.arguments.write_only]
        command = sides.patterns_command(side, self.tools, group.ranks, words)
        lines = sides.launch(side, self.tools, group.ranks, command, report)
        if any(strategy in KEEPING for strategy in self.arguments.strategies):
            lines = [line if line["mode"] == "read" else with_close(line) for line in lines]
        return [(line["mode"], line) for line in lines]


def with_close(line: dict) -> dict:
    """A line of the program that has the patterns; its times contain closing the file."""
    both = zip(line["seconds"], line["close_seconds"], strict=True)
    return line | {"seconds": [calls_s + close_s for calls_s, close_s in both]}


def as_json(cell: Cell) -> dict:
    described = {}
    for name in cell.samples:
        described[name] = {"seconds": cell.samples[name]}
        if name in cell.errors:
            described[name]["error"] = cell.errors[name]
        else:
            described[name] |= {"mb_per_s": cell.mb_per_s(name), "spread": cell.spread(name),
                                "spoilt_hole_bytes": cell.spoilt_hole_bytes[name]}
        if name in cell.strategies:
            described[name]["strategies"] = cell.strategies[name]
    return {"ranks": cell.ranks, "directory": cell.directory, "pattern": cell.pattern,
            "mode": cell.mode, "bytes": cell.bytes, "sides": described}


def ratios_as_json(cell: Cell) -> dict:
    """Costs about 10 ms for each pair of sides."""
    compared = {}
    for side in filter(lambda side: cell.measured(side.name), cell.unisono_sides()):
        others = {sides.DEFAULT_ROMIO, side.own_default, cell.best_native(), sides.POSIX}
        found = {other: cell.ratio(side.name, other) for other in sorted(others)}
        compared[side.name] = {other: dataclasses.asdict(ratio)
                               for other, ratio in found.items() if ratio}
        compared[side.name]["clearly_below_own_default"] = (
            clearly_below_own_default(cell, side) is not None)
    return {"best_native": cell.best_native(), "ratios": compared}


def missed_as_json(cells: list[Cell]) -> list[dict]:
    return [{"cell": check.cell.name, "side": check.side, "against": check.against,
             "target": check.target, "ratio": check.ratio.value}
            for check in target_checks(cells) if check.missed]


def save_json(path: pathlib.Path, content: dict) -> None:
    """Replaces the file in one step."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(content, indent=1) + "\n")
    unfinished.replace(path)


def failed(cells: list[Cell]) -> bool:
    ours = [side.name for side in sides.SIDES if not side.native]
    return any(sides.plain_name(name) in ours for cell in cells for name in cell.errors)


def measure_and_save(arguments: argparse.Namespace, measurement: Measurement) -> bool:
    """Ends early, with what there is, on an interrupt from the keyboard or SIGTERM; returns False then."""
    interrupted = False
    described = environment.describe(arguments.directories, arguments.build)
    for key, value in described.items():
        print(f"{key}: {value}")
    settings = {name: str(value) for name, value in vars(arguments).items()}

    def content() -> dict:
        return {"environment": described, "settings": settings, "complete": measurement.complete,
                "cells": list(map(as_json, measurement.cells))}

    try:
        measurement.measure(groups_of(arguments), lambda: save_json(arguments.json, content()))
    except KeyboardInterrupt:
        interrupted = True
        print("\ninterrupted: what follows is incomplete")
    final = content() | {"missed_targets": missed_as_json(measurement.cells)}
    for cell, stored in zip(measurement.cells, final["cells"]):
        stored |= ratios_as_json(cell)
    save_json(arguments.json, final)
    return not interrupted


def main() -> int:
    arguments = parse_arguments()
    if why := reason_not_to_begin(arguments):
        print(why, file=sys.stderr)
        return 2
    settings = {"UNISONO_LAYOUT": arguments.layout, "UNISONO_SELECT": arguments.select,
                "UNISONO_TUNE": "off",  # nothing is left over from one side or run to the next
                "UNISONO_TOPOLOGY": f"nodes={arguments.nodes}" if arguments.nodes else ""}
    tools = Tools(arguments.build, {key: value for key, value in settings.items() if value},
                  arguments.timeout, binds=not arguments.cluster)
    chosen = sides.with_strategies(tuple(usable_sides(arguments.sides, tools)),
                                   arguments.strategies)
    if not chosen:
        print("nothing to measure", file=sys.stderr)
        return 2
    measurement = Measurement(arguments, tools, chosen)
    # Ranks, nodes and mounts must not outlive us.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with timing_lock(arguments.lock), nodes.place(arguments) as directories:
        arguments.directories = directories
        ended = measure_and_save(arguments, measurement)
    print(table.render(measurement.cells, chosen))
    print(table.findings(measurement.cells, chosen))
    print(f"\nin full: {arguments.json}")
    return 1 if failed(measurement.cells) else 0 if ended else 130


if __name__ == "__main__":
    sys.exit(main())
