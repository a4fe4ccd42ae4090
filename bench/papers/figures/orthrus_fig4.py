"""Orthrus, figure 4: Matrix, how many rows a call is for."""

from ..experiment import Claim, Cluster, Figure, sweep
from .orthrus_fig3 import candidates
from .testbeds import ORTHRUS

DEPTHS = ("4", "16", "64", "128")
MATRIX = sweep("matrix", 16, "depth", DEPTHS,
               {"block-bytes": "16K", "file-bytes": "128M", "seconds": 3})

FIGURE = Figure(
    name="orthrus-fig4",
    title="Matrix: depth of a call",
    source="Orthrus (ISC 2014), figure 4",
    testbed=ORTHRUS,
    x_label="rows in a call",
    cluster=Cluster(nodes=4),
    run_seconds=5,
    differs="16 processes on 4 nodes instead of 64 on 11; runs of 3 seconds. Messages and file data"
            " share a link of 1 Gbit/s of each node, as in the paper.",
    lines=candidates(MATRIX),
    claims=(
        Claim("disk_first is 1.20 times ROMIO at depth 4", 1.20, "section 3.2", "disk_first", "4",
              "ROMIO", why="links are the limit: with servers that take no time it has 1.68"),
        Claim("core_first is not far from disk_first at depth 128", 1.0,
              "section 3.2", "core_first", "128", "disk_first",
              in_words=True, why="links are the limit, and core_first sends nothing between nodes"),
    ),
)
