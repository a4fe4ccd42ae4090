"""View-based collective I/O, figure 5: mpi-tile-io."""

from ..experiment import Claim, Figure, Job
from .testbeds import VIEW_BASED
from .view_based_fig3 import NETWORK, lines
from .view_based_fig6 import ALL_AGGREGATE

RANKS = ("4", "8", "16")


def tiles(direction: str) -> dict[str, tuple[Job, ...]]:
    return {ranks: (Job("mpi-tile-io", int(ranks), {"width": 1024, "height": 768}, direction,
                        sync=False),) for ranks in RANKS}


FIGURE = Figure(
    name="view-based-fig5",
    title="mpi-tile-io: a tile of each process",
    source="View-based collective I/O (CCGrid 2008), figure 5",
    testbed=VIEW_BASED,
    x_label="processes",
    differs="Tiles of 1024 x 768 elements (6 MiB) instead of 2048 x 1536; the file grows with the"
            " processes (the paper's description contradicts itself). Times are those of the calls, as in"
            " the paper, where buffers are flushed at the close.",
    lines=lines(tiles, ALL_AGGREGATE),
    claims=(
        Claim("view-based takes up to 59 % less time to write (at the least 44 %)", 1 / (1 - 0.59), "section VI.B",
              "view_based, write", "best", "two-phase (ROMIO), write"),
        Claim("with the close counted it is faster in three of four cases", 1.1, "section VI.B",
              "view_based, write and close", "mean", "two-phase (ROMIO), write and close", in_words=True,
              why="nothing is written before the close"),
        Claim("view-based reads 1.87 times as fast with 8 processes", 1.87, "section VI.B",
              "view_based, read", "8", "two-phase (ROMIO), read", why=NETWORK),
    ),
)
