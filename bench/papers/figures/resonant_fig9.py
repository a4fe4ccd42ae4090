"""Resonant I/O, figure 9: noncontig, columns of a matrix of ints."""

from ..experiment import Claim, Figure, sweep
from .engine import romio_and_resonant
from .testbeds import RESONANT

XS = ("4096", "8192", "16384", "32768", "65536")


def noncontig(direction: str):
    return sweep("noncontig", 4, "elmtcount", XS, {"call-bytes": "16M", "file-bytes": "64M"},
                 direction=direction)


FIGURE = Figure(
    name="resonant-fig9",
    title="noncontig: columns of elmtcount ints",
    source="Resonant I/O (IPDPS 2009), figure 9",
    testbed=RESONANT,
    x_label="elmtcount (4 bytes each; 16384 are a stripe unit)",
    run_seconds=2,
    differs="The file has 64 MiB instead of 10 GB; writes go over an existing file and include"
            " MPI_File_sync.",
    lines=romio_and_resonant(noncontig),
    claims=(
        Claim("resonant reads 2.57 times as fast at 16384", 2.57, "section 4.2.4",
              "resonant, read", "16384", "ROMIO, read",
              why="ROMIO collapses less, as in figure 2"),
        Claim("resonant writes 1.97 times as fast at 16384", 1.97, "section 4.2.4",
              "resonant, write", "16384", "ROMIO, write", why="not known"),
        Claim("resonant reads a little slower at 4096", 0.95,
              "section 4.2.4", "resonant, read", "4096",
              "ROMIO, read", in_words=True, why="[our agents ask once for pieces that touch, the paper's for each]"),
        Claim("resonant, read, 16384", 101, "section 4.2.4", "resonant, read", "16384",
              why="[the servers read ahead more than the paper's]"),
        Claim("resonant, write, 16384", 96, "section 4.2.4", "resonant, write", "16384", why="not known"),
    ),
)
