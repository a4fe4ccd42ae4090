"""Records how long collective calls take with each candidate of selection by measurement.

For replay.cpp, which plays them back to selectors: so a change of a selector is judged by the same
timings each time. Candidates take turns in blocks of calls, and each round begins with another one.

    cd bench && python3 -m selection.record --output selection/timings.json --cells pocket-ssd
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import statistics

import environment
from run import count
from sides import LaunchError

from .cells import CELLS, Cell
from .runs import PLAIN, Runner, add_common_options, in_short_turns, runner_at

# The kernel holds real-time processes back for some 50 ms of each second, if they never sleep.
HELD_BACK_S = (0.030, 0.075)
ASKED_CALLS = 3  # enough for a report to name the candidates


def candidates_of(runner: Runner, cell: Cell) -> list[str]:
    """The selector's own, the rule's choice first."""
    report = runner.run(cell, "measured", ASKED_CALLS).report
    selection = report["selections"][0]
    return [one["candidate"] for one in selection["tried"]] + selection["untried"]


def record(runner: Runner, cell: Cell, rounds: int, calls: int) -> dict:
    ways = [*candidates_of(runner, cell), PLAIN]
    series: dict[str, list[list[float]]] = {way: [] for way in ways}
    runs = {}
    for turn in range(rounds):
        first = turn % len(ways)
        for way in ways[first:] + ways[:first]:
            try:
                runs[way] = runner.run(cell, way, calls)
            except LaunchError as error:
                print(f"{cell.name}: {way}: {error}", flush=True)
                continue
            series[way].append([float(f"{one:.4g}") for one in runs[way].seconds])
    by_pieces = runs.get("independent", runs[ways[0]])
    return {
        "name": cell.name, "place": cell.place.name, "direction": cell.direction,
        "ranks": cell.place.ranks, "nodes": cell.place.nodes, "bytes": by_pieces.bytes,
        "pieces": by_pieces.report["pieces"] // len(by_pieces.seconds), "local": not cell.place.profile,
        "seconds": {way: never_held_back(blocks) for way, blocks in series.items()
                    if blocks and (way == PLAIN or took_part(runs[way].strategies, way))},
    }


def never_held_back(blocks: list[list[float]]) -> list[list[float]]:
    """Without the calls in which the kernel stopped the ranks: those that took so much longer than
    the median, and four times as long. That was not the candidate's fault."""
    usual_s = statistics.median(one for block in blocks for one in block)
    least_s, most_s = HELD_BACK_S

    def held_back(seconds: float) -> bool:
        return seconds > 4 * usual_s and least_s < seconds - usual_s < most_s

    kept = [[one for one in block if not held_back(one)] for block in blocks]
    return [block for block in kept if block]


def took_part(strategies: list[str], way: str) -> bool:
    """Nobody else did the calls instead: it was not refused."""
    return strategies == [way.partition("+")[0]]


def save(content: dict, file: pathlib.Path) -> None:
    lines = ",\n".join(json.dumps(cell, separators=(",", ":")) for cell in content["cells"])
    file.write_text(f'{{"recorded": {json.dumps(content["recorded"])},\n"cells": [\n{lines}\n]}}\n')


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add_common_options(parser)
    add("--output", type=pathlib.Path, required=True, help="cells are added to it")
    add("--cells", default="", help="only those whose names contain this")
    add("--rounds", type=count, default=3)
    add("--calls", type=count, default=12, help="of one candidate in a round")
    arguments = parser.parse_args(words)
    if not any(arguments.cells in cell.name for cell in CELLS):
        parser.error(f"no cell has {arguments.cells!r} in its name; they are {', '.join(cell.name for cell in CELLS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    file = arguments.output
    content = json.loads(file.read_text()) if file.exists() else {"recorded": [], "cells": []}
    known = {cell["name"] for cell in content["cells"]}
    chosen = [cell for cell in CELLS if arguments.cells in cell.name and cell.name not in known]
    for place, cells in itertools.groupby(chosen, key=lambda cell: cell.place):
        content["recorded"].append(environment.describe([pathlib.Path(place.folder)], arguments.build)
                                   | {"place": place.name, "realtime": arguments.realtime})
        with runner_at(place, arguments.build.resolve(), arguments.realtime) as runner:
            for cell in in_short_turns(cells, arguments.lock):
                added = record(runner, cell, arguments.rounds, arguments.calls)
                content["cells"] = [one for one in content["cells"] if one["name"] != cell.name]
                content["cells"].append(added)
                save(content, file)
                print(f"{cell.name}: {len(added['seconds'])} ways, load {os.getloadavg()[0]:.1f}",
                      flush=True)


if __name__ == "__main__":
    main()
