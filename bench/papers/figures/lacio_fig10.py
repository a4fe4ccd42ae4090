"""LACIO, figure 10: a program's own checkpoint."""

from ..experiment import Claim, Figure, Job, Line
from .engine import with_two_phase
from .lacio_fig6 import AGGREGATORS
from .testbeds import LACIO

CHECKPOINT = {str(ranks): (Job("checkpoint", ranks, {"structures": 8, "file-bytes": "256M"},
                               "write"),) for ranks in (8, 16)}

FIGURE = Figure(
    name="lacio-fig10",
    title="checkpoint of a program's data structures",
    source="LACIO (IPDPS 2011), figure 10",
    testbed=LACIO,
    x_label="processes",
    nodes=8,
    differs="256 MiB instead of 6 GB, 8 and 16 processes instead of 64 and 128, 8 servers instead of"
            " 32; over an existing file, with MPI_File_sync.",
    lines=with_two_phase((
        Line("ROMIO", "mpich-tuned", CHECKPOINT, hints=AGGREGATORS),
        Line("lacio", "unisono-mpich:lacio", CHECKPOINT, hints=AGGREGATORS),
    )),
    claims=(
        Claim("lacio is 1.15 times ROMIO with fewer processes", 1.15, "section IV.D", "lacio", "8",
              "ROMIO", why="[its exchange, as in figure 8]"),
        Claim("lacio is 1.28 times ROMIO with more", 1.28, "section IV.D", "lacio", "16", "ROMIO",
              why="[its exchange, as in figure 8]"),
    ),
)
