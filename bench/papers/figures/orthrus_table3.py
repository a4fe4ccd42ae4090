"""Orthrus, table 3: how many TCP segments a node sends."""

import dataclasses

from ..experiment import Claim, Cluster, Figure, Job
from .orthrus_fig3 import candidates
from .orthrus_fig6 import RANKS
from .testbeds import ORTHRUS

PAPERS_SEGMENTS = {"ROMIO": 1_385_008, "core_first": 322_884, "disk_first": 1_412_066}
MATRIX = {"64K": (Job("matrix", RANKS, {"block-bytes": "64K", "depth": 4, "file-bytes": "256M"}),)}


def claim(says: str, strategy: str, why: str = "") -> Claim:
    return Claim(says, PAPERS_SEGMENTS[strategy] / PAPERS_SEGMENTS["ROMIO"], "table 3", strategy, "64K", "ROMIO", why=why)


FIGURE = Figure(
    name="orthrus-table3",
    title="Matrix: TCP segments that a node sends",
    source="Orthrus (ISC 2014), table 3",
    testbed=ORTHRUS,
    x_label="block",
    cluster=Cluster(nodes=4),
    unit="segments",
    seeds=1,
    ceiling_seeds=0,
    differs="Counted, not timed, from each node's /proc/net/snmp as in the paper: what is sent, as segments that come in"
            " are joined before they are counted. 8 processes on 4 nodes instead of 32, 256 MB instead of 10 GB.",
    lines=tuple(dataclasses.replace(line, segments=True) for line in candidates(MATRIX) if not line.settings),
    claims=(
        claim("core_first sends a quarter of ROMIO's segments", "core_first",
              "[it only asks and acknowledges, and Linux joins segments before it acknowledges them]"),
        claim("disk_first sends as many segments as ROMIO", "disk_first"),
    ),
)
