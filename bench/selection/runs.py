"""Runs a cell's calls, done by one candidate or by who chooses, and says how long each one took."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from papers import testbed
from papers.experiment import Cluster, Servers
from run import ROOT, default_lock, timing_lock
from sides import SIDES, Side, Tools, lines_of, start, words_before

from .cells import Cell, Place

# As select/candidate.cpp names them.
VARIATIONS = {"every_rank": "cb_config_list=*:*", "large_buffers": "cb_buffer_size=4194304",
              "intra_node_aggregation": "unisono_intra_node_aggregation=enable"}
PLAIN = "mpi"  # the MPI library by itself, without Unisono
# Who chooses among the candidates.
CHOOSERS = {"rule": {"UNISONO_SELECT": "rule"}, "default": {"UNISONO_SELECT": "auto"},
            "measured": {"UNISONO_SELECT": "measured"}, "paper": {"UNISONO_SELECT": "orthrus"}}
LONGEST_S = 3.0  # no further call after so long
LOCKED_S = 45
PAUSE_S = 0.3  # whoever waits for the lock needs a moment to take it


@dataclass(frozen=True)
class Run:
    """`seconds`: of each call, on the slowest rank. `report`: Unisono's, of the cell's direction;
    empty without it."""

    seconds: list[float]
    bytes: int
    report: dict

    @property
    def strategies(self) -> list[str]:
        return list(self.report.get("strategies", {}))


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Of recording and of live runs."""
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=ROOT / "build")
    add("--lock", type=pathlib.Path, default=default_lock())
    add("--realtime", action="store_true",
        help="ranks and emulator go before everything else on this machine (root; for busy machines)")


class Runner:
    """Runs cells of one place."""

    def __init__(self, build: pathlib.Path, place: Place, folder: pathlib.Path,
                 pocket: testbed.Pocket | None, realtime: bool):
        self.build = build
        self.place = place
        self.path = folder / "selection.data"
        self.pocket = pocket
        self.realtime = realtime
        self.prepared: set[tuple[str, ...]] = set()

    def run(self, cell: Cell, way: str, calls: int, tune: str = "off") -> Run:
        """`way`: a candidate, PLAIN or one of CHOOSERS. Raises sides.LaunchError."""
        self._prepare(cell, calls)
        strategy, _, variation = way.partition("+")
        settings = {"UNISONO_TUNE": tune, **self.place.settings, **CHOOSERS.get(way, {})}
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.json")
            words = words_before(self._side("" if way in CHOOSERS else strategy, way == PLAIN),
                                 Tools(self.build, settings), self.place.ranks, report)
            words += [str(self._program), *cell.calls.words(calls), f"--{cell.direction}",
                      f"--path={self.path}", f"--calls={calls}", f"--seconds={LONGEST_S}",
                      "--call-seconds", *(["--realtime"] if self.realtime else [])]
            if variation:
                words.append(f"--hints={VARIATIONS[variation]}")
            line = lines_of(start(words, self._environment), timeout_s=120)[-1]
            reports = report.read_text().splitlines() if report.exists() else []
        own = json.loads(reports[-1])[cell.direction] if reports else {}
        return Run(line["call_seconds"], line["bytes"] // len(line["call_seconds"]), own)

    @property
    def _environment(self) -> dict[str, str] | None:
        if self.pocket is None:
            return None
        return {**(self.pocket.environment or os.environ), **testbed.ENVIRONMENT}

    @property
    def _program(self) -> pathlib.Path:
        return self.build / "libexec" / f"unisono-bench.{self.place.mpi}"

    def _side(self, strategy: str, plain: bool) -> Side:
        names = {"mpich": ("mpich", "unisono-mpich"), "openmpi": ("ompio", "unisono-ompi")}
        name = names[self.place.mpi][0 if plain else 1]
        side = next(side for side in SIDES if side.name == name)
        return side if plain else dataclasses.replace(side, strategy=strategy)

    def _prepare(self, cell: Cell, calls: int) -> None:
        """Nothing that an earlier run has written is left to be written; caches of emulated servers
        are empty."""
        program = cell.calls.words(calls)
        if cell.mode == "fresh":
            self.path.unlink(missing_ok=True)
            self.prepared.clear()
        elif tuple(program) not in self.prepared:
            self.prepared.add(tuple(program))
            words = words_before(self._side("", plain=True), Tools(self.build), self.place.ranks,
                                 self.path)
            words += [str(self._program), *program, f"--path={self.path}", "--prepare"]
            lines_of(start(words, self._environment), timeout_s=120)
        if self.path.exists():
            with self.path.open("rb") as file:
                os.fsync(file)
        if self.pocket is not None:
            self.pocket.begin_run()


def in_short_turns(tasks: Iterable, lock: pathlib.Path) -> Iterator:
    """Hands them out while it holds the timing lock, and lets go of it for a moment after LOCKED_S:
    others want to measure, too."""
    waiting = list(tasks)
    while waiting:
        with timing_lock(lock):
            begin_s = time.monotonic()
            while waiting and time.monotonic() - begin_s < LOCKED_S:
                yield waiting.pop(0)
        time.sleep(PAUSE_S)


@contextlib.contextmanager
def runner_at(place: Place, build: pathlib.Path, realtime: bool = False) -> Iterator[Runner]:
    """With a folder of its own, or a pocket file system, which are removed in the end. `realtime`: ranks
    and emulator go before everything else on this machine."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unisono-selection-", dir=place.folder))
    try:
        if not place.profile:
            yield Runner(build, place, folder, None, realtime)
            return
        with testbed.cluster_for(Cluster(place.nodes) if place.cluster else None, build) as cluster:
            pocket = testbed.Pocket(testbed.commands_of(build), folder, build / "bin" / "unisono",
                                    realtime, cluster)
            with pocket.mounted(Servers(place.profile, place.servers), place.profile, seed=1):
                yield Runner(build, place, pocket.mountpoint, pocket, realtime)
    finally:
        shutil.rmtree(folder)
