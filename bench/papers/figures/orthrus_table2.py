"""Orthrus, table 2: FLASH-IO's checkpoint and plot files, through HDF5; loops of 111 and 4 calls."""

from ..experiment import Claim, Cluster, Figure, Job, Line
from .engine import with_two_phase
from .orthrus_fig3 import CHOSEN, MEASURED
from .testbeds import ORTHRUS

# The benchmark fills 0.8 of MAXBLOCK's blocks, 1500 and 600: with the cells along a block's side
# these are the paper's requests of 10 KB and 2 MB.
A = {"size": 1200, "cells": 1}
B = {"size": 480, "cells": 8}
# It has 11 unknowns and one of each of IONMAX fluids.
CHECKPOINT = 11 + 100
PLOT = 4
RANKS = 8


def writes(configuration: dict[str, int], variables: int, file: str) -> tuple[Job, ...]:
    return (Job("flash-io", RANKS, {**configuration, "variables": variables}, "write", file=file),)


def at_corners(configuration: dict[str, int]) -> dict[str, int]:
    """A block has a corner more than cells along each side."""
    return {**configuration, "cells": configuration["cells"] + 1}


FILES = {
    "A, chk": writes(A, CHECKPOINT, "chk-a"),
    "A, plt_cnt": writes(A, PLOT, "plt-a"),
    "B, chk": writes(B, CHECKPOINT, "chk-b"),
    "B, plt_cnt": writes(B, PLOT, "plt-b"),
    "A, plt_crn": writes(at_corners(A), PLOT, "crn-a"),
    "B, plt_crn": writes(at_corners(B), PLOT, "crn-b"),
}

FIGURE = Figure(
    name="orthrus-table2",
    title="FLASH-IO's files, through HDF5",
    source="Orthrus (ISC 2014), table 2",
    testbed=ORTHRUS,
    x_label="",
    cluster=Cluster(nodes=4),
    seeds=5,
    run_seconds=8,
    differs="8 processes on 4 nodes instead of 64 on 11, so a call writes 77 KB (A) or 16 MB (B); each process has"
            " as many blocks as the others, where some of the benchmark's have one or two more; plot files have"
            " doubles, too. Nodes have a link of 1 Gbit/s each. From open to close,"
            " not synchronised: the servers' memory holds a part at the end.",
    lines=with_two_phase((
        Line("ROMIO", "mpich", FILES),
        Line("disk_first", "unisono-mpich:disk_first", FILES),
        Line("chosen by orthrus", "unisono-mpich", FILES, settings=CHOSEN),
        Line("chosen by measured", "unisono-mpich", FILES, settings=MEASURED),
        Line("chosen by rule", "unisono-mpich", FILES),
    )),
    claims=(
        Claim("Orthrus takes 47.2 % less time (A, checkpoint)", 22.8 / 12.03, "table 2",
              "chosen by orthrus", "A, chk", "ROMIO"),
        Claim("Orthrus takes 26.4 % less time (B, checkpoint)", 174 / 128, "table 2",
              "chosen by orthrus", "B, chk", "ROMIO"),
        Claim("Orthrus takes 5 % more time with four calls (A, plot file)", 0.38 / 0.40, "table 2",
              "chosen by orthrus", "A, plt_cnt", "ROMIO",
              why="all four calls examine candidates"),
        Claim("Orthrus takes 21 % less time (B, plot file)", 4.2 / 3.3, "table 2",
              "chosen by orthrus", "B, plt_cnt", "ROMIO"),
        Claim("Orthrus takes 10 % more time with four calls (A, corner plot file)", 0.51 / 0.56, "table 2",
              "chosen by orthrus", "A, plt_crn", "ROMIO"),
        Claim("Orthrus takes 37 % less time (B, corner plot file)", 5.9 / 3.7, "table 2",
              "chosen by orthrus", "B, plt_crn", "ROMIO"),
        Claim("`measured` takes no more time than the rule (A, plot file)", 1.0, "not in the paper",
              "chosen by measured", "A, plt_cnt", "chosen by rule",
              own=True),
    ),
)
