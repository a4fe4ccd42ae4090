"""Resonant I/O, figure 7: mpi-io-test, where ranks' requests do not interleave."""

from ..experiment import Claim, Figure, Line, sweep
from .engine import romio_and_resonant
from .testbeds import RESONANT

XS = ("16K", "32K", "64K", "128K", "256K", "512K", "1M")


def mpi_io_test(direction: str):
    return sweep("mpi-io-test", 4, "segment-bytes", XS, {"file-bytes": "64M"}, direction=direction)


# "n process groups" or "group k, where k = i/n", for n servers: the text can be read either way.
N_GROUPS = "unisono_resonant_groups=by_count"

FIGURE = Figure(
    name="resonant-fig7",
    title="mpi-io-test: one segment of each process in a call",
    source="Resonant I/O (IPDPS 2009), figure 7",
    testbed=RESONANT,
    x_label="segment",
    run_seconds=2,
    differs="The file has 64 MiB instead of 10 GB; writes go over an existing file and include"
            " MPI_File_sync, because the servers' memory holds all of it.",
    lines=(*romio_and_resonant(mpi_io_test),
           Line("resonant, read, n groups", "unisono-mpich:resonant", mpi_io_test("read"),
                hints=N_GROUPS)),
    claims=(
        Claim("resonant reads up to 1.61 times as fast", 1.61, "section 4.2.2", "resonant, read",
              "best", "ROMIO, read"),
        Claim("resonant reads up to 1.61 times as fast (with n groups, the other reading)", 1.61,
              "section 4.2.2", "resonant, read, n groups", "best", "ROMIO, read",
              why="[one process after another, as the paper's: each alone reads in order]"),
        Claim("at 64K both resonate: no gain", 1.0, "section 4.2.2", "resonant, read", "64K",
              "ROMIO, read", why="what a call costs: simulated, where that is next to nothing, 0.96"),
        Claim("ROMIO's spike: 64K reads faster than 128K", 1.5,
              "section 4.2.2", "ROMIO, read", "64K", "ROMIO, read",
              "128K", in_words=True),
    ),
)
