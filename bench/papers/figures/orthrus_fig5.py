"""Orthrus, figure 5: noncontig with small and large elements."""

import dataclasses

from ..experiment import Claim, Cluster, Figure, sweep
from .orthrus_fig3 import candidates
from .testbeds import ORTHRUS

XS = ("16", "256", "1024", "4096", "16384")
OPTIONS = {"call-bytes": "4M", "file-bytes": "64M", "seconds": 3}
NONCONTIG = sweep("noncontig", 16, "elmtcount", XS, OPTIONS)
WRITTEN = sweep("noncontig", 16, "elmtcount", XS[1:], OPTIONS, direction="write", flags=("--sync-calls",))

FIGURE = Figure(
    name="orthrus-fig5",
    title="noncontig: elements of a piece",
    source="Orthrus (ISC 2014), figure 5 (a)",
    testbed=ORTHRUS,
    x_label="elmtcount",
    cluster=Cluster(nodes=4),
    differs="16 processes on 4 nodes instead of 64 on 11; 4 MiB in a call (the paper: usually more than 10 MB); reads"
            " only; runs of 3 seconds. Messages and"
            " file data share a link of 1 Gbit/s of each node, as in the paper.",
    lines=candidates(NONCONTIG),
    claims=(
        Claim("ROMIO is faster than disk_first with 16 elements", 0.8,
              "section 3.3", "disk_first", "16", "ROMIO",
              in_words=True,
              why="the paper's disk_first sends a request for each piece; ours merges them"),
        Claim("core_first overtakes ROMIO at 1024", 1.1,
              "section 3.3", "core_first", "1024", "ROMIO",
              in_words=True),
        Claim("core_first has a clear advantage over disk_first at 16384", 1.2, "section 3.3", "core_first", "16384",
              "disk_first", in_words=True),
        Claim("Orthrus has what core_first has at 16384", 1.0, "section 3.3", "chosen by orthrus", "16384", "core_first",
              in_words=True),
        Claim("Orthrus is up to several times as fast as ROMIO", 3.0, "section 5, of all experiments",
              "chosen by orthrus", "best", "ROMIO", in_words=True),
    ),
)

MERGED = "the paper's disk_first sends a request for each piece; ours merges them, and two_phase has as much"

WRITES = dataclasses.replace(
    FIGURE,
    name="orthrus-fig5-write",
    title="noncontig: elements of a piece, written",
    source="Orthrus (ISC 2014), figure 5 (b)",
    ceiling_seeds=0,
    lines=tuple(line for line in candidates(WRITTEN) if not line.settings),
    differs=FIGURE.differs.replace("reads only", "writes only, with MPI_File_sync after each call, as in the paper"),
    claims=(
        Claim("ROMIO writes faster than disk_first with 256 elements", 0.8, "section 3.3", "disk_first", "256", "ROMIO",
              in_words=True, why=MERGED),
        Claim("ROMIO writes faster than disk_first with 1024 elements", 0.8, "section 3.3", "disk_first", "1024", "ROMIO",
              in_words=True, why=MERGED),
        Claim("core_first writes faster than ROMIO with 4096 elements", 1.1, "section 3.3", "core_first", "4096", "ROMIO",
              in_words=True, why="two_phase of our own has 2.2 times ROMIO's speed, too"),
        Claim("core_first has a clear advantage over disk_first at 16384", 1.2, "section 3.3", "core_first", "16384",
              "disk_first", in_words=True),
    ),
)
