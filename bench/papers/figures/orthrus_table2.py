"""Orthrus, table 2: FLASH-IO's checkpoint and plot files, through HDF5; loops of 24 and 4 calls."""

from ..experiment import Claim, Cluster, Figure, Job, Line
from .engine import with_two_phase
from .orthrus_fig3 import CHOSEN, MEASURED
from .testbeds import ORTHRUS

# MAXBLOCK and the cells along a block's side.
A = {"size": 1500, "cells": 1}
B = {"size": 600, "cells": 8}
RANKS = 8


def writes(configuration: dict[str, int], variables: int, file: str) -> tuple[Job, ...]:
    return (Job("flash-io", RANKS, {**configuration, "variables": variables}, "write", file=file),)


FILES = {
    "A, checkpoint": writes(A, 24, "chk-a"),
    "A, plot": writes(A, 4, "plt-a"),
    "B, checkpoint": writes(B, 24, "chk-b"),
    "B, plot": writes(B, 4, "plt-b"),
}

FIGURE = Figure(
    name="orthrus-table2",
    title="FLASH-IO's files, through HDF5",
    source="Orthrus (ISC 2014), table 2",
    testbed=ORTHRUS,
    x_label="",
    cluster=Cluster(nodes=4),
    seeds=5,
    differs="Blocks and cells as in the paper, 24 variables in a checkpoint and 4 in a plot file, of"
            " doubles; 8 processes on 4 nodes instead of 64, so a call writes 96 KB (A) or 20 MB (B)."
            " IONMAX is not followed: it is not in the 24 unknowns of the original. Nodes have a link"
            " of 1 Gbit/s each. From open to close, not synchronised: the servers' memory holds a part"
            " at the end.",
    lines=with_two_phase((
        Line("ROMIO", "mpich", FILES),
        Line("disk_first", "unisono-mpich:disk_first", FILES),
        Line("chosen by orthrus", "unisono-mpich", FILES, settings=CHOSEN),
        Line("chosen by measured", "unisono-mpich", FILES, settings=MEASURED),
        Line("chosen by rule", "unisono-mpich", FILES),
    )),
    claims=(
        Claim("Orthrus takes 47.2 % less time (A, checkpoint)", 1 / (1 - 0.472), "table 2",
              "chosen by orthrus", "A, checkpoint", "ROMIO",
              why="nine of 24 calls examine candidates; [calls of 96 KB]"),
        Claim("Orthrus takes 26.4 % less time (B, checkpoint)", 1 / (1 - 0.264), "table 2",
              "chosen by orthrus", "B, checkpoint", "ROMIO", why="not known"),
        Claim("Orthrus takes 5.3 % more time with four calls (A, plot file)", 1 / 1.053, "table 2",
              "chosen by orthrus", "A, plot", "ROMIO",
              why="all four calls examine candidates"),
        Claim("`measured` takes no more time than the rule (A, plot file)", 1.0, "not in the paper",
              "chosen by measured", "A, plot", "chosen by rule",
              own=True),
    ),
)
