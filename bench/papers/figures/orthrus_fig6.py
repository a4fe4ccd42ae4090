"""Orthrus, figure 6 and section 3.5: another program's messages begin in the middle."""

from ..experiment import Claim, Cluster, Figure, Job
from .orthrus_fig3 import candidates
from .testbeds import ORTHRUS

RANKS = 8
MIDDLE_S = 6


def matrix(seconds: int) -> Job:
    return Job("matrix", RANKS, {"block-bytes": "64K", "depth": 4, "file-bytes": "128M",
                                 "seconds": seconds}, flags=("--call-seconds",))


def messages(seconds: int, after_s: int = 0) -> Job:
    return Job("alltoall", RANKS, {"seconds": seconds}, background=True, begins_after_s=after_s)


JOBS = {
    "alone": (matrix(4),),
    "with messages": (matrix(4), messages(4)),
    "from the middle": (matrix(2 * MIDDLE_S), messages(MIDDLE_S, MIDDLE_S)),
}

FIGURE = Figure(
    name="orthrus-fig6",
    title="Matrix, and another program's all-to-all from the middle on",
    source="Orthrus (ISC 2014), figure 6",
    testbed=ORTHRUS,
    x_label="the other program",
    cluster=Cluster(nodes=4),
    seeds=5,
    ceiling_seeds=0,
    timeline="from the middle",
    run_seconds=11,
    differs="8 processes on 4 nodes instead of 32; the other program sends messages of 256 KiB"
            " between 8 processes on the same nodes all the time, instead of FT; seconds instead of"
            " minutes. Messages and file data share a link of 1 Gbit/s of each node.",
    lines=candidates(JOBS),
    claims=(
        Claim("ROMIO loses up to 46 %", 0.54, "section 3.5", "ROMIO", "with messages", "ROMIO",
              "alone"),
        Claim("disk_first loses up to 60 %", 0.40, "section 3.5", "disk_first", "with messages",
              "disk_first", "alone", why="not known"),
        Claim("core_first shows its advantage", 1.2, "section 3.5",
              "core_first", "with messages", "disk_first",
              in_words=True, why="nothing of it goes between nodes"),
        Claim("Orthrus switches to core_first", 1.0, "section 3.5",
              "chosen by orthrus", "with messages", "core_first",
              in_words=True, why="a tenth of its calls examine the others"),
    ),
)
