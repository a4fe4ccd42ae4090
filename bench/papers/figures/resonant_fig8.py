"""Resonant I/O, figure 8: ior-mpi-io, each process in its own quarter of the file."""

from ..experiment import Claim, Figure, Line, sweep
from .engine import romio_and_resonant
from .resonant_fig7 import N_GROUPS
from .testbeds import RESONANT

XS = ("16K", "32K", "64K", "128K", "256K", "512K", "1M")


def ior(direction: str):
    return sweep("ior-mpi-io", 4, "transfer-bytes", XS, {"file-bytes": "64M"}, direction=direction)


FIGURE = Figure(
    name="resonant-fig8",
    title="ior-mpi-io: each process its own quarter, in step",
    source="Resonant I/O (IPDPS 2009), figure 8",
    testbed=RESONANT,
    x_label="transfer",
    run_seconds=2,
    differs="The file has 64 MiB instead of 1 GB; writes go over an existing file and include"
            " MPI_File_sync.",
    lines=(*romio_and_resonant(ior),
           Line("resonant, read, n groups", "unisono-mpich:resonant", ior("read"), hints=N_GROUPS)),
    claims=(
        Claim("below 64K reads are much slower than at 1M", 0.3,
              "section 4.2.3", "ROMIO, read", "16K", "ROMIO, read",
              "1M", in_words=True),
        Claim("resonant reads faster at 64K", 1.2, "section 4.2.3",
              "resonant, read", "64K", "ROMIO, read",
              in_words=True, why="[the paper has an agent ask here; ours takes turns, as its section 3.4 has it]"),
        Claim("the advantage shrinks with the size", 1.0,
              "section 4.2.3", "resonant, read", "1M", "ROMIO, read",
              in_words=True),
    ),
)
