"""Resonant I/O, figure 6: coll_perf."""

from ..experiment import Claim, Figure, sweep
from .engine import romio_and_resonant
from .testbeds import RESONANT

XS = ("64", "128", "256")


def coll_perf(direction: str):
    return sweep("coll-perf", 4, "side", XS, {}, direction=direction)


FIGURE = Figure(
    name="resonant-fig6",
    title="coll_perf: a 3-D array, block-distributed",
    source="Resonant I/O (IPDPS 2009), figure 6",
    testbed=RESONANT,
    x_label="side of the cube, ints",
    differs="Sides up to 256 instead of 1024; writes go over an existing file and include"
            " MPI_File_sync.",
    lines=romio_and_resonant(coll_perf),
    claims=(
        Claim("resonant gains modestly", 1.1, "section 4.2.1",
              "resonant, read", "256", "ROMIO, read",
              in_words=True),
        Claim("the peak, read", 80, "section 4.2.1, around", "resonant, read", "256",
              why="[the servers read ahead more than the paper's]"),
    ),
)
