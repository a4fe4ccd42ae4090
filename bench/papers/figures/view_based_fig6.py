"""View-based collective I/O, figure 6: coll_perf."""

import dataclasses

from ..experiment import Claim, Cluster, Figure, Job, Line
from .engine import with_two_phase
from .testbeds import VIEW_BASED
from .view_based_fig3 import FLUSH_AT_CLOSE

RANKS = ("4", "8", "16")
ALL_AGGREGATE = "cb_config_list=*:{ranks},cb_buffer_size=4194304"
AT_CLOSE = f"{ALL_AGGREGATE},{FLUSH_AT_CLOSE}"
WARM = ("--warm-up",)  # as ROMIO's own coll_perf begins


def coll_perf(direction: str):
    return {ranks: (Job("coll-perf", int(ranks), {"side": 256}, direction=direction, flags=WARM),)
            for ranks in RANKS}


def after_write():
    """The variant that does not close the file between writing and reading."""
    return {ranks: (Job("coll-perf", int(ranks), {"side": 256}, flags=(*WARM, "--after-write")),)
            for ranks in RANKS}


def written():
    """Without MPI_File_sync: whether data is still in memory when the call returns is the point."""
    return {ranks: (Job("coll-perf", int(ranks), {"side": 256}, direction="write", sync=False, flags=WARM),)
            for ranks in RANKS}


FIGURE = Figure(
    name="view-based-fig6",
    title="coll_perf: a 3-D array, block-distributed",
    source="View-based collective I/O (CCGrid 2008), figure 6",
    testbed=VIEW_BASED,
    x_label="processes",
    run_seconds=1.4,
    differs="256^3 ints (64 MiB) instead of 512^3, 4 to 16 processes instead of 8 to 64; reads come from the"
            " servers' memory, where the warm-up's writes still are; Gigabit"
            " Ethernet to the servers instead of InfiniBand; no network between processes.",
    lines=with_two_phase((
        Line("two-phase (ROMIO), write", "mpich-tuned", written(), hints=ALL_AGGREGATE),
        Line("view_based, write", "unisono-mpich:view_based", written(), hints=AT_CLOSE),
        Line("two-phase (ROMIO), write and close", "mpich-tuned", written(), hints=ALL_AGGREGATE,
             with_close=True),
        Line("view_based, write and close", "unisono-mpich:view_based", written(),
             hints=AT_CLOSE, with_close=True),
        Line("two-phase (ROMIO), read", "mpich-tuned", coll_perf("read"), hints=ALL_AGGREGATE),
        Line("view_based, read", "unisono-mpich:view_based", coll_perf("read"),
             hints=ALL_AGGREGATE),
        Line("two-phase (ROMIO), read after write", "mpich-tuned", after_write(),
             hints=ALL_AGGREGATE),
        Line("view_based, read after write", "unisono-mpich:view_based", after_write(),
             hints=ALL_AGGREGATE),
    )),
    claims=(
        Claim("view-based writes up to 7.33 times as fast", 7.33, "section VI.C",
              "view_based, write", "best", "two-phase (ROMIO), write",
              why="[two cores copy for all: 1,290 MB/s with 4 processes]; links of 1 Gbit/s do not help: 1.07 there"),
        Claim("view-based reads at best 1.66 times as fast (file closed between)", 1.66,
              "section VI.C", "view_based, read", "best", "two-phase (ROMIO), read",
              why="no disk is read: the servers' memory has what the warm-up wrote (as without emulated servers: 0.7"
                  " to 0.9), and ROMIO's reads wait for no lists here"),
        Claim("view-based reads up to 5.45 times as fast (file kept open)", 5.45, "section VI.C",
              "view_based, read after write", "best", "two-phase (ROMIO), read after write"),
        Claim("with the close counted, writes are no slower", 1.0,
              "section VI.B, of figure 5", "view_based, write and close",
              "mean", "two-phase (ROMIO), write and close",
              in_words=True,
              why="copies of what was written, and memory touched for the first time (a profile)"),
    ),
)

# Figure 4: of the paper's two-phase 72 to 86 % are communication.
LINKS = "[each byte crosses a link with both, and ROMIO writes while the others send]"
ON_A_CLUSTER = dataclasses.replace(
    FIGURE,
    name="view-based-fig6-cluster",
    title="coll_perf, on nodes with gigabit links",
    cluster=Cluster(nodes=16),
    run_seconds=4,
    lines=tuple(line for line in FIGURE.lines if line.name.endswith((", write", ", read"))),
    claims=tuple(dataclasses.replace(claim, why=LINKS) for claim in FIGURE.claims[:2]),
    differs=FIGURE.differs.replace("; no network between processes", "")
            + " Each process on a node of its own, whose messages and file data share a link of 1 Gbit/s.",
)
