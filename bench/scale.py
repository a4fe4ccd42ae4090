#!/usr/bin/python3
"""How collective calls grow with the number of ranks: simulated, and compared with a model of ROMIO.

Each line runs Unisono's own executor on a simulated team (testbed/simulated/): all messages and file
accesses are real, their times are those of modelled links and servers. CPU time, memory accesses and
copies cost nothing, on both sides.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATTERNS = ["strided-4k", "block-3d", "block-4d", "irregular", "ior-hard"]
STRATEGIES = ["independent", "two_phase", "lacio", "view_based", "core_first", "disk_first"]
ROMIO = "romio"
REAL_BYTES_UP_TO = 1024  # ranks; beyond, data has a size only


class Point(NamedTuple):
    """One simulated run."""
    pattern: str
    strategy: str
    ranks: int
    ranks_per_node: int = 16
    servers: int = 100
    bytes_per_rank: int = 64 * 1024

    def command(self, build: pathlib.Path) -> list[str]:
        options = [text for name, value in self._asdict().items()
                   for text in ("--" + name.replace("_", "-"), str(value))]
        sizes_only = ["--sizes-only"] if self.ranks > REAL_BYTES_UP_TO else []
        return [str(build / "tests/simulate"), "scale", *options, *sizes_only]


def points(full: bool) -> list[Point]:
    """The largest first, so that they do not end last."""
    growing = [64, 256, 1024, 4096, 16384]
    most = dict.fromkeys(PATTERNS, 1024) | {"strided-4k": 4096, "block-4d": 4096}
    if full:
        most = dict.fromkeys(PATTERNS, 4096) | {"strided-4k": 16384, "block-4d": 16384}
    chosen = [Point(pattern, strategy, ranks)
              for pattern in PATTERNS for strategy in ("auto", ROMIO)
              for ranks in growing if ranks <= most[pattern]]
    chosen += [Point("strided-4k", strategy, 1024, per_node)
               for per_node in (1, 128) for strategy in ("auto", ROMIO)]
    chosen += [Point("strided-4k", strategy, 1024, servers=2000) for strategy in ("auto", ROMIO)]
    chosen += [Point("strided-4k", strategy, 256) for strategy in STRATEGIES]
    chosen += [Point(pattern, strategy, 256, bytes_per_rank=1 << 20)
               for pattern in PATTERNS if pattern != "ior-hard" for strategy in ("auto", ROMIO)]
    return sorted(chosen, key=lambda point: -point.ranks)


def measure(chosen: list[Point], build: pathlib.Path, *more: str) -> dict[Point, dict]:
    def one(point: Point) -> dict:
        ran = subprocess.run([*point.command(build), *more], capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"{' '.join(ran.args)}: {ran.stdout}{ran.stderr}")
        print(f"{point.pattern}, {point.strategy}, {point.ranks} ranks", file=sys.stderr)
        return json.loads(ran.stdout)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(chosen, pool.map(one, chosen)))


def plans() -> list[Point]:
    """Of more ranks than can be run."""
    chosen = [Point(pattern, "auto", ranks)
              for pattern in ("strided-4k", "block-3d", "block-4d") for ranks in (1024, 16384, 131072)]
    return chosen + [Point("strided-4k", "auto", 131072, per_node) for per_node in (1, 128)]


def messages_a_round(line: dict) -> float | None:
    """That a rank sends in a round, on average."""
    return line["messages"] / line["ranks"] / line["rounds"] if line["rounds"] else None


def row(point: Point, line: dict, romio: dict | None) -> list[str]:
    a_round = messages_a_round(line)
    ratios = [f"{romio[way] / line[way]:.2f}" if romio else "" for way in ("write_s", "read_s")]
    return [point.pattern, line["chosen"] or point.strategy, str(point.ranks),
            str(point.ranks_per_node), str(point.servers), f"{line['bytes'] / line['ranks'] / 1024:.0f}",
            f"{1e3 * line['write_s']:.2f}", f"{1e3 * line['read_s']:.2f}", *ratios,
            "" if a_round is None else f"{a_round:.2f}", str(line["fan_in"]),
            "" if point.strategy == ROMIO else f"{line['memory_bytes_per_rank'] / 2**20:.2f}",
            f"{line['reduced_bytes_per_rank'] / 1024:.1f}"]


HEADER = ["pattern", "strategy", "ranks", "a node", "servers", "KiB", "write ms", "read ms", "ROMIO /", "ROMIO /",
          "messages", "fan-in", "MiB", "KiB reduced"]


def in_order(lines: dict[Point, dict]) -> list[Point]:
    return sorted(lines, key=lambda one: (PATTERNS.index(one.pattern), one.bytes_per_rank, one.servers,
                                          one.ranks_per_node != 16, one.ranks))


def table(lines: dict[Point, dict]) -> str:
    rows = [HEADER]
    for point in in_order(lines):
        beside = None if point.strategy == ROMIO else lines.get(point._replace(strategy=ROMIO))
        rows.append(row(point, lines[point], beside))
    return aligned(rows)


def table_of_plans(lines: dict[Point, dict]) -> str:
    rows = [["pattern", "strategy", "ranks", "a node", "aggregators", "rounds", "senders", "messages", "fan-in",
             "KiB reduced", "plan ms", "plan KiB"]]
    for point in in_order(lines):
        line = lines[point]
        rows.append([point.pattern, line["strategy"], str(point.ranks), str(point.ranks_per_node),
                     str(line["aggregators"]), str(line["rounds"]), "nodes" if line["nodes_send"] else "ranks",
                     str(line["most_from_one"]), str(line["fan_in"]), f"{line['reduced_bytes_per_rank'] / 1024:.1f}",
                     f"{1e3 * line['planning_s']:.2f}", f"{line['plan_bytes_per_rank'] / 1024:.0f}"])
    return aligned(rows)


def aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(text.ljust(width) if at < 2 else text.rjust(width)
                               for at, (text, width) in enumerate(zip(cells, widths))).rstrip()
                     for cells in rows)


def draw(lines: dict[Point, dict], picture: pathlib.Path) -> None:
    """Time, memory and messages over the number of ranks; the suffix decides about the format."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    drawing, panels = pyplot.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for number, pattern in enumerate(PATTERNS):
        for strategy, style in (("auto", "o-"), (ROMIO, "x:")):
            along = sorted((point for point in lines if point == Point(pattern, strategy, point.ranks)),
                           key=lambda point: point.ranks)
            ranks = [point.ranks for point in along]
            ours = strategy != ROMIO
            label = pattern if ours else None
            color = f"C{number}"
            panels[0].plot(ranks, [1e3 * lines[point]["write_s"] for point in along], style,
                           color=color, label=label)
            if not ours:
                continue
            panels[1].plot(ranks, [lines[point]["memory_bytes_per_rank"] / 2**20 for point in along],
                           style, color=color)
            panels[2].plot(ranks, [messages_a_round(lines[point]) or 0 for point in along], style,
                           color=color)
    panels[0].plot([], [], "kx:", label="model of ROMIO")
    for panel, title, unit in zip(panels, ("Time of the writes", "Memory of a rank, Unisono",
                                           "Messages of a rank in a round, Unisono"),
                                  ("ms, simulated", "MiB", "")):
        panel.set(title=title, ylabel=unit, xlabel="ranks, 16 on a node")
        panel.set_xscale("log", base=2)
        panel.set_ylim(bottom=0)
    panels[0].legend(fontsize="small")
    drawing.suptitle("Simulated: 64 KiB a rank, 100 Gbit/s a node, 100 data servers of 5 GB/s", fontsize="medium")
    drawing.savefig(picture)
    pyplot.close(drawing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--full", action="store_true", help="also 16,384 ranks (an hour and 10 GiB)")
    parser.add_argument("--json", type=pathlib.Path, help="write all numbers there")
    parser.add_argument("--picture", type=pathlib.Path, help="draw them there: .svg, .png, .pdf")
    arguments = parser.parse_args()
    lines = measure(points(arguments.full), arguments.build)
    planned = measure(plans(), arguments.build, "--plan-only")
    if arguments.json:
        arguments.json.write_text(json.dumps([*lines.values(), *planned.values()], indent=1))
    if arguments.picture:
        draw(lines, arguments.picture)
    print("Simulated. Times of all calls; 'ROMIO /': how many times as long its model writes and reads;\n"
          "messages: of a rank in a round; fan-in: to one rank in a write; MiB: memory of a rank;\n"
          "KiB: a rank's data, whole pieces of it; KiB reduced: what it brought to reductions. To", REAL_BYTES_UP_TO,
          "ranks all bytes are compared.\n")
    print(table(lines))
    print("\nOf more ranks than can be run: one write is planned, and what it would send is counted. messages: of a\n"
          "sender to other nodes, at most; fan-in: to one rank; KiB reduced: so that ranks know what comes to them;\n"
          "ms, KiB: of this machine, for the plan that every rank makes.\n")
    print(table_of_plans(planned))


if __name__ == "__main__":
    main()
