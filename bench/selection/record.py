#!/usr/bin/python3
"""Records how long single collective calls take with each candidate of selection by measurement.

For replay.cpp, which plays them back to selectors: so a change of a selector is judged by the same
timings each time. One call of this script adds cells to a file; it holds the timing lock, so keep it
short: a few patterns at a time.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import environment
import run as benchmark
from sides import SIDES, Tools, command_for

# As select/candidate.cpp names them.
VARIATIONS = {"every_rank": "cb_config_list=*:*", "large_buffers": "cb_buffer_size=4194304",
              "two_layers": "unisono_two_layers=enable"}
STRATEGIES = ("native", "independent", "two_phase", "transpose", "core_first", "disk_first",
              "resonant", "lacio")
IN_RANK_ORDER = ("contiguous", "calls-contiguous")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where and with how many ranks; `local`: the node's own file system."""

    name: str
    directory: pathlib.Path
    ranks: int
    nodes: int
    layout: str
    local: bool


@dataclasses.dataclass(frozen=True)
class Timing:
    """One mode of one pattern, done one way, one opened file for each entry."""

    calls: int
    bytes: int
    seconds: list[float]  # of all calls on one file
    reports: list[dict]  # of the direction, one for each file


class Recorder:
    def __init__(self, arguments: argparse.Namespace, place: Place):
        self.arguments = arguments
        self.place = place
        side = "unisono-mpich" if arguments.mpi == "mpich" else "unisono-ompi"
        self.side = next(one for one in SIDES if one.name == side)

    def measure(self, pattern: str, modes: tuple[str, ...], candidate: str, repeats: int,
                settings: dict[str, str] | None = None) -> dict[str, Timing]:
        """By mode. `candidate`: a name in select/candidate.cpp, or auto."""
        strategy, _, variation = candidate.partition("+")
        side = dataclasses.replace(self.side, strategy=strategy,
                                   hints=VARIATIONS.get(variation, ""))
        given = {"UNISONO_LAYOUT": self.place.layout, "UNISONO_TUNE": "off",
                 "UNISONO_TOPOLOGY": f"nodes={self.place.nodes}" if self.place.nodes > 1 else ""}
        given |= settings or {}
        tools = Tools(self.arguments.build, {key: text for key, text in given.items() if text})
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.json")
            words = ["--pattern", pattern, "--mode", ",".join(modes), "--repeats", str(repeats),
                     "--bytes", str(self.arguments.bytes),
                     "--path", str(self.place.directory / "selection.data")]
            done = subprocess.run(command_for(side, tools, self.place.ranks, words, report),
                                  capture_output=True, text=True, timeout=300, check=True)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
            reports = [json.loads(line) for line in report.read_text().splitlines()]
        timings = {}
        for index, line in enumerate(lines):
            direction = "read" if line["mode"] == "read" else "write"
            own = [one[direction] for one in reports[index * repeats:(index + 1) * repeats]]
            timings[line["mode"]] = Timing(line["calls"], line["bytes"], line["seconds"], own)
        return timings

    def cells(self, pattern: str) -> list[dict]:
        arguments = self.arguments
        auto = self.measure(pattern, arguments.modes, "auto", 1)
        cells = {}
        for mode, timing in auto.items():
            cells[mode] = {
                "name": f"{self.place.name} {pattern} {mode}",
                "direction": "read" if mode == "read" else "write", "ranks": self.place.ranks,
                "nodes": self.place.nodes, "bytes": timing.bytes // timing.calls,
                "rules": list(timing.reports[0]["strategies"]),
                "excluded": [] if pattern in IN_RANK_ORDER else ["native"],
                "feared_s": {}, "seconds": {},
            }
        for candidate in self.candidates():
            for mode, timing in self.measure(pattern, arguments.modes, candidate,
                                             arguments.repeats).items():
                self.add(cells[mode], candidate, timing)
        return list(cells.values())

    def candidates(self) -> list[str]:
        varied = [name for name in VARIATIONS if name != "two_layers" and not self.place.local]
        if self.place.ranks > self.place.nodes > 1:
            varied.append("two_layers")
        return [*STRATEGIES, *(f"two_phase+{name}" for name in varied)]

    def add(self, cell: dict, candidate: str, timing: Timing) -> None:
        """Nothing where another strategy did the calls: this one was refused."""
        strategy = candidate.partition("+")[0]
        if any(list(report["strategies"]) != [strategy] for report in timing.reports):
            return
        if candidate == "independent":
            self.fear(cell, timing.reports[0]["pieces"] // timing.calls)
        cell["seconds"][candidate] = [float(f"{one / timing.calls:.4g}") for one in timing.seconds]

    def fear(self, cell: dict, pieces: int) -> None:
        """As feared_seconds() in select/candidate.cpp."""
        if cell["bytes"] < 4096 * pieces:
            piece_s = 2e-6 if self.place.local else 1e-3
            cell["feared_s"]["independent"] = pieces / self.place.ranks * piece_s


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=benchmark.ROOT / "build")
    add("--output", type=pathlib.Path, required=True, help="cells are added to it")
    add("--name", required=True, help="of the place, e.g. tmpfs")
    add("--directory", type=pathlib.Path, default=pathlib.Path("/dev/shm"))
    add("--patterns", default="contiguous", type=lambda text: text.split(","))
    add("--modes", default=("fresh", "overwrite", "read"), type=lambda text: tuple(text.split(",")))
    add("--mpi", choices=("mpich", "openmpi"), default="mpich")
    add("--ranks", type=int, default=4)
    add("--nodes", type=int, default=1)
    add("--layout", default="")
    add("--local", action="store_true", help="the directory is on the node's own file system")
    add("--bytes", type=int, default=8 << 20)
    add("--repeats", type=int, default=15)
    add("--lock", type=pathlib.Path, default=benchmark.default_lock())
    return parser.parse_args()


def place_of(arguments: argparse.Namespace) -> Place:
    return Place(arguments.name, arguments.directory, arguments.ranks, arguments.nodes,
                 arguments.layout, arguments.local)


def main() -> None:
    arguments = parse_arguments()
    recorder = Recorder(arguments, place_of(arguments))
    file = arguments.output
    content = json.loads(file.read_text()) if file.exists() else {"recorded": [], "cells": []}
    with benchmark.timing_lock(arguments.lock):
        content["recorded"].append(environment.describe([arguments.directory])
                                   | {"place": arguments.name})
        for pattern in arguments.patterns:
            added = recorder.cells(pattern)
            names = {cell["name"] for cell in added}
            content["cells"] = [cell for cell in content["cells"] if cell["name"] not in names]
            content["cells"] += added
            print(f"{pattern}: load {os.getloadavg()[0]:.1f}", flush=True)
    lines = ",\n".join(json.dumps(cell) for cell in content["cells"])
    file.write_text(f'{{"recorded": {json.dumps(content["recorded"])},\n"cells": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
