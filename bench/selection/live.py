"""Selection by measurement, live: whole runs of some cells, by each candidate and by who chooses.

All take turns, each in a process of its own; a table has the medians. Runs are 100 calls; what their
first 30 took counts as a run of 30.

    cd bench && python3 -m selection.live --results /tmp/live.json
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import tempfile

import environment
from run import count, list_of, save_json
from sides import LaunchError

from .cells import CELLS, Cell
from .record import candidates_of, never_held_back
from .runs import CHOOSERS, PLAIN, Runner, add_common_options, in_short_turns, runner_at

NAMES = ("tmpfs strided-4k overwrite", "tmpfs strided-64k read", "tmpfs contiguous overwrite",
         "tmpfs holes read", "disk strided-4k fresh", "two-nodes strided-4k read",
         "pocket-instant strided-4k read", "pocket-ssd strided-64k read",
         "pocket-ssd 64-B-pieces overwrite", "pocket-ssd-openmpi contiguous read")
REMEMBERING = "measured, with memory"
LONG, SHORT = 100, 30


def seconds_of(runner: Runner, cell: Cell, way: str, tune: pathlib.Path) -> list[float]:
    """Of each call. With memory: that of one earlier run, which does not count."""
    if way != REMEMBERING:
        return runner.run(cell, way, LONG).seconds
    if not tune.exists():
        runner.run(cell, "measured", LONG, str(tune))
    return runner.run(cell, "measured", LONG, str(tune)).seconds


def measure(cell: Cell, arguments: argparse.Namespace) -> dict:
    with (runner_at(cell.place, arguments.build.resolve(), arguments.realtime) as runner,
          tempfile.TemporaryDirectory() as folder):
        fixed = candidates_of(runner, cell)
        ways = [*fixed, *CHOOSERS, REMEMBERING, PLAIN]
        runs: dict[str, list[list[float]]] = {way: [] for way in ways}
        turns = [(turn, ways[(turn + place) % len(ways)])
                 for turn in range(arguments.rounds) for place in range(len(ways))]
        for turn, way in in_short_turns(turns, arguments.lock):
            try:
                runs[way].append(seconds_of(runner, cell, way, pathlib.Path(folder, str(turn))))
            except LaunchError as error:
                print(f"{cell.name}: {way}: {error}", flush=True)
    return {"name": cell.name, "fixed": fixed, "runs": runs}


def throughput(way: str, runs: list[list[float]], calls: int) -> float:
    """Calls per second, the median run; those that had no time for so many count as they are. Slow
    calls of who tries candidates may be what that costs: all of them count."""
    kept = [run[:calls] for run in runs]
    if way not in (*CHOOSERS, REMEMBERING):
        kept = never_held_back(kept)
    return statistics.median(len(run) / sum(run) for run in kept)


def ratios(cell: dict) -> dict[str, float]:
    """Of those that did not fail each time."""
    speeds = {calls: {way: throughput(way, runs, calls) for way, runs in cell["runs"].items() if runs}
              for calls in (LONG, SHORT)}
    best = max((way for way in cell["fixed"] if way in speeds[LONG]), key=speeds[LONG].__getitem__, default="")
    if not best:
        return {"best": "none"}
    result = {way: speeds[LONG][way] / speeds[LONG][best]
              for way in (*CHOOSERS, REMEMBERING, PLAIN) if way in speeds[LONG]}
    for way in ("measured", REMEMBERING):
        if {way, PLAIN} <= speeds[SHORT].keys():
            result[f"{way} / {PLAIN}"] = speeds[SHORT][way] / speeds[SHORT][PLAIN]
    return {"best": best, **result}


def table(cells: list[dict]) -> list[str]:
    """Markdown."""
    columns = ["rule", "measured", REMEMBERING, "paper", PLAIN, f"measured / {PLAIN}",
               f"{REMEMBERING} / {PLAIN}"]
    lines = ["| cell | fastest fixed | " + " | ".join(columns) + " |", "|---" * 9 + "|"]
    by_column: dict[str, list[float]] = {column: [] for column in columns}
    for cell in cells:
        row = ratios(cell)
        for column in columns:
            if column in row:
                by_column[column].append(row[column])
        numbers = [f"{row[column]:.2f}" if column in row else "-" for column in columns]
        lines.append(f"| {cell['name']} | `{row['best']}` | " + " | ".join(numbers) + " |")
    for title, of in (("median", statistics.median), ("worst", min)):
        numbers = [f"{of(by_column[column]):.2f}" if by_column[column] else "-" for column in columns]
        lines.append(f"| **{title}** | | " + " | ".join(numbers) + " |")
    return lines


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add_common_options(parser)
    add("--results", type=pathlib.Path, required=True, help="cells that are there are not repeated")
    add("--cells", type=list_of([cell.name for cell in CELLS]), default=NAMES, help="comma-separated")
    add("--rounds", type=count, default=3)
    return parser.parse_args(words)


def main() -> None:
    arguments = parse_arguments()
    file = arguments.results
    content = json.loads(file.read_text()) if file.exists() else {"cells": []}
    known = {cell["name"] for cell in content["cells"]}
    for cell in (cell for cell in CELLS if cell.name in arguments.cells and cell.name not in known):
        described = environment.describe([pathlib.Path(cell.place.folder)], arguments.build)
        content["cells"].append(measure(cell, arguments) | {"environment": described, "realtime": arguments.realtime})
        save_json(file, content)
        print(table(content["cells"][-1:])[2], flush=True)
    print("\n".join(table(content["cells"])))


if __name__ == "__main__":
    main()
