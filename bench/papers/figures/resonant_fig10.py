"""Resonant I/O, figure 10: HPIO, one large call."""

from ..experiment import Claim, Figure, sweep
from .engine import romio_and_resonant
from .testbeds import RESONANT

XS = ("2K", "4K", "8K", "16K", "32K", "64K")


def hpio(direction: str):
    return sweep("hpio", 4, "region-bytes", XS, {"region-count": 512}, direction=direction)


FIGURE = Figure(
    name="resonant-fig10",
    title="HPIO: regions of all processes in turn, one call",
    source="Resonant I/O (IPDPS 2009), figure 10",
    testbed=RESONANT,
    x_label="region",
    run_seconds=2,
    differs="512 regions of each process instead of 4096; writes go over an existing file and"
            " include MPI_File_sync.",
    lines=romio_and_resonant(hpio),
    claims=(
        Claim("resonant reads faster at 64K", 1.5, "section 4.2.5",
              "resonant, read", "64K", "ROMIO, read",
              in_words=True),
    ),
)
