#!/usr/bin/python3
"""How much of nonblocking collective writes goes on while a program computes, natively and under
Unisono in turn: shares of the ideal, in which the shorter of both takes no time at all.

Places are tmpfs, emulated disks, SSDs and `instant` servers, and an emulated cluster with two nodes
and links of 1 Gbit/s (root). overlap.cpp says what its words and numbers mean.
"""

import argparse
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from papers.experiment import Cluster, Servers
from papers.testbed import Pocket, cluster_for, commands_of
from run import count, default_lock, rotated, timing_lock
from sides import LAUNCHERS

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = ("tmpfs", "nearline", "ssd", "instant", "cluster")
SIDES = {"mpich": ("mpich", False), "ompio": ("openmpi", False),
         "unisono-mpich": ("mpich", True), "unisono-ompi": ("openmpi", True)}  # fmt: skip
LIMIT_S = 60
PIECE_BYTES = 64 << 10  # overlap.cpp
SHARE = re.compile(r"writing ([\d.]+) s, .*: ([\d.]+) of the ideal")


@contextlib.contextmanager
def at(place: str, build: pathlib.Path) -> Iterator[tuple[pathlib.Path, dict[str, str]]]:
    """A folder there, and the environment of launchers."""
    with tempfile.TemporaryDirectory(prefix="unisono-overlap-", dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        if place == "tmpfs":
            yield folder, dict(os.environ)
            return
        on_cluster = place == "cluster"
        with cluster_for(Cluster(2) if on_cluster else None, build) as cluster:
            pocket = Pocket(commands_of(build), folder, build / "bin" / "unisono", cluster=cluster)
            profile = "instant" if on_cluster else place
            with pocket.mounted(Servers(profile, jitter_us=0), profile, seed=0):
                yield pocket.mountpoint, dict(os.environ) | dict(pocket.environment or {})


def measure(arguments, side: str, ranks: int, folder: pathlib.Path, environment: dict[str, str]) -> float | None:
    """The share of the ideal; None if the program fails or takes too long."""
    mpi, with_unisono = SIDES[side]
    preload = [arguments.build / "lib" / f"libunisono-{mpi}.so"] if with_unisono else []
    preload.append(arguments.build / "lib" / "libunisono-yield.so")
    settings = {"LD_PRELOAD": ":".join(map(str, preload)), "UNISONO_TUNE": "off", "UNISONO_OVERLAP": arguments.overlap}
    launcher = [LAUNCHERS[mpi], "-n", str(ranks)]
    if mpi == "openmpi":
        launcher += ["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]
    command = [*launcher, "env", *(f"{key}={value}" for key, value in settings.items()),
               arguments.build / "programs" / f"unisono-bench-overlap.{mpi}", folder / "file",
               str(arguments.bytes), str(arguments.steps), *arguments.words]  # fmt: skip
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        print(f"{side}: not over after {LIMIT_S} s", file=sys.stderr)
        return None
    found = SHARE.search(done.stdout)
    if done.returncode != 0 or found is None:
        print(f"{side}: exit code {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
        return None
    return float(found[2])


def _whole_pieces(text: str) -> int:
    if count(text) % PIECE_BYTES:
        raise argparse.ArgumentTypeError(f"it must be a multiple of {PIECE_BYTES}")
    return count(text)


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=ROOT / "build")
    add("--places", nargs="+", choices=PLACES, default=PLACES[:3])
    add("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    add("--ranks", nargs="+", type=count, default=[1, 2])
    add("--words", nargs="*", choices=("split", "multiple", "polling"), default=[])
    add("--overlap", choices=("automatic", "enable", "disable"), default="automatic",
        help="UNISONO_OVERLAP")
    add("--bytes", type=_whole_pieces, default=16 << 20, help="of a rank in a step")
    add("--steps", type=count, default=20)
    add("--alternations", type=count, default=3)
    return parser.parse_args(words)


def main() -> int:
    arguments = parse_arguments()
    failed = False
    print("place     ranks ", *(f"{side:>20}" for side in arguments.sides))
    for place in arguments.places:
        for ranks in arguments.ranks:
            shares: dict[str, list[float]] = {side: [] for side in arguments.sides}
            with timing_lock(default_lock()), at(place, arguments.build) as (folder, environment):
                for turn in range(arguments.alternations):
                    for side in rotated(arguments.sides, turn):
                        share = measure(arguments, side, ranks, folder, environment)
                        failed |= share is None
                        shares[side] += [] if share is None else [share]
            cells = [f"{statistics.median(all_):.2f} ({min(all_):.2f} to {max(all_):.2f})" if all_ else "-"
                     for all_ in shares.values()]  # fmt: skip
            print(f"{place:9} {ranks:5} ", *(f"{cell:>20}" for cell in cells), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
