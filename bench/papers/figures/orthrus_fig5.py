"""Orthrus, figure 5: noncontig with small and large elements."""

from ..experiment import Claim, Cluster, Figure, sweep
from .orthrus_fig3 import candidates
from .testbeds import ORTHRUS

XS = ("16", "256", "1024", "4096", "16384")
NONCONTIG = sweep("noncontig", 16, "elmtcount", XS,
                  {"call-bytes": "4M", "file-bytes": "64M", "seconds": 3})

FIGURE = Figure(
    name="orthrus-fig5",
    title="noncontig: elements of a piece",
    source="Orthrus (ISC 2014), figure 5 (a)",
    testbed=ORTHRUS,
    x_label="elmtcount",
    cluster=Cluster(nodes=4),
    differs="16 processes on 4 nodes instead of 64 on 11; reads only; runs of 3 seconds. Messages and"
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
    ),
)
