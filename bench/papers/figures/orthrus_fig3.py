"""Orthrus, figure 3: Matrix with growing blocks; the candidates, and their choice by measurement."""

import dataclasses
from collections.abc import Mapping

from ..experiment import Claim, Cluster, Figure, Job, Line, sweep
from .engine import with_two_phase
from .testbeds import ORTHRUS, modern

XS = ("4K", "16K", "64K", "256K")
FEW = ("16K", "256K")
LARGE = ("1M", "4M")
ONE_PER_NODE = "cb_config_list=*:{ranks},cb_nodes=4"
CHOSEN = {"UNISONO_SELECT": "orthrus"}
MEASURED = {"UNISONO_SELECT": "measured"}  # this project's own choice


def matrix(direction: str, xs: tuple[str, ...], seconds: int = 2):
    return sweep("matrix", 16, "block-bytes", xs,
                 {"depth": 4, "file-bytes": "512M" if xs == LARGE else "256M", "seconds": seconds},
                 direction=direction)


def candidates(jobs: Mapping[str, tuple[Job, ...]], suffix: str = "",
               choosing: Mapping[str, tuple[Job, ...]] | None = None) -> tuple[Line, ...]:
    """The paper's three, its choice among them, and ours; `suffix`: of the lines' names; `choosing`: the jobs
    of the choice where they are others."""
    return with_two_phase((
        Line(f"ROMIO{suffix}", "mpich-tuned", jobs, hints=ONE_PER_NODE),
        Line(f"disk_first{suffix}", "unisono-mpich:disk_first", jobs, hints=ONE_PER_NODE),
        Line(f"core_first{suffix}", "unisono-mpich:core_first", jobs, hints=ONE_PER_NODE),
        *(Line(f"chosen by {name}{suffix}", "unisono-mpich", choosing or jobs, hints=ONE_PER_NODE,
               settings=settings) for name, settings in (("orthrus", CHOSEN), ("measured", MEASURED))),
    ))


def lines(direction: str, xs: tuple[str, ...] = XS, choosing_s: int = 3) -> tuple[Line, ...]:
    return candidates(matrix(direction, xs), f", {direction}", matrix(direction, xs, choosing_s))


FIGURE = Figure(
    name="orthrus-fig3",
    title="Matrix: block size",
    source="Orthrus (ISC 2014), figure 3",
    testbed=ORTHRUS,
    x_label="block",
    nodes=4,
    seeds=5,
    run_seconds=3.6,
    differs="16 processes on 4 nodes instead of 64 on 11; each run goes on for 2 seconds, for 3 where"
            " candidates are examined; blocks up to 256 KiB instead of 4 MiB; messages between nodes cost"
            " next to nothing here, which favours everything that exchanges.",
    lines=lines("read") + lines("write"),
    claims=(
        Claim("Orthrus reads on average 1.21 times as fast as ROMIO", 1.21, "section 3.2",
              "chosen by orthrus, read", "mean", "ROMIO, read"),
        Claim("Orthrus writes on average 1.36 times as fast", 1.36, "section 3.2",
              "chosen by orthrus, write", "mean", "ROMIO, write"),
        Claim("disk_first reads faster than core_first with small blocks", 1.2,
              "section 3.2", "disk_first, read", "16K",
              "core_first, read", in_words=True,
              why="messages between nodes cost as little here as those within"),
    ),
)

ON_A_CLUSTER = dataclasses.replace(
    FIGURE,
    name="orthrus-fig3-cluster",
    title="Matrix: block size, on nodes with gigabit links",
    cluster=Cluster(nodes=4),
    run_seconds=7,
    lines=lines("read", FEW, choosing_s=12) + lines("write", FEW, choosing_s=12),
    differs="16 processes on 4 nodes instead of 64 on 11; each run goes on for 2 seconds, for 12 with"
            " Orthrus' choice, which contain its examination; two block sizes instead of six."
            " Messages and file data share a link of 1 Gbit/s of each node, as in the paper.",
    claims=(
        *(dataclasses.replace(claim, why="exchange over the links is ROMIO's limit, not the disks: with servers"
                              " that take no time Orthrus reads 3.5 times as fast and writes 4.2 times")
          for claim in FIGURE.claims[:-1]),
        dataclasses.replace(FIGURE.claims[-1], why="exchange over the links is the limit, and the disks"
                            " hardly position: order saves nothing"),
        Claim("core_first reads as fast as ROMIO or faster at 256K", 1.1,
              "section 3.2", "core_first, read", "256K",
              "ROMIO, read", in_words=True, why="[exchange over the links is ROMIO's limit here]"),
    ),
)

WITH_LARGE_BLOCKS = dataclasses.replace(
    FIGURE,
    name="orthrus-fig3-large",
    title="Matrix: large blocks",
    lines=lines("read", LARGE, choosing_s=6) + lines("write", LARGE, choosing_s=6),
    differs=FIGURE.differs.replace("for 3 where", "for 6 where").replace("blocks up to 256 KiB instead of 4 MiB;",
                                                                          "files of 512 MiB;"),
    claims=(
        Claim("core_first reads faster than disk_first with blocks of 4 MiB", 1.1, "section 3.2",
              "core_first, read", "4M", "disk_first, read", in_words=True),
        Claim("core_first writes faster than disk_first with blocks of 4 MiB", 1.1, "section 3.2",
              "core_first, write", "4M", "disk_first, write", in_words=True),
    ),
)

TODAY = modern(FIGURE)
