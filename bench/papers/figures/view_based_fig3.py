"""View-based collective I/O, figure 3: BTIO's access pattern."""

import dataclasses

from ..experiment import Claim, Cluster, Figure, Job, Line
from .engine import with_two_phase
from .testbeds import VIEW_BASED

RANKS = ("4", "9", "16")
ALL_AGGREGATE = "cb_config_list=*:{ranks},cb_buffer_size=1048576"  # 1 MiB, as BTIO sets it

NETWORK = "[the paper's network makes each list that is saved count]"


FLUSH_AT_CLOSE = "unisono_flush=close"  # as the paper's view-based does
COMPUTE_S = 0.25  # "around 80 %" of the time (section VI.A)


def btio(direction: str):
    return {ranks: (Job("btio", int(ranks), {"side": 64, "steps": 8, "compute-seconds": COMPUTE_S},
                        direction=direction, sync=False),)
            for ranks in RANKS}


def lines(jobs, hints: str) -> tuple[Line, ...]:
    """What a call takes, as the paper counts it, and with the close, where the paper's flushes."""
    sides = (("two-phase (ROMIO)", "mpich-tuned", hints),
             ("view_based", "unisono-mpich:view_based", f"{hints},{FLUSH_AT_CLOSE}"))
    calls = tuple(Line(f"{name}, {direction}", side, jobs(direction), hints=its, calls_only=True)
                  for direction in ("write", "read") for name, side, its in sides)
    with_close = tuple(Line(f"{name}, write and close", side, jobs("write"), hints=its,
                            with_close=True, calls_only=True) for name, side, its in sides)
    online = Line("view_based, flushed online, write and close", "unisono-mpich:view_based",
                  jobs("write"), hints=hints, with_close=True, calls_only=True)
    return (*with_two_phase((*calls, *with_close)), online)


FIGURE = Figure(
    name="view-based-fig3",
    title="BTIO's access pattern",
    source="View-based collective I/O (CCGrid 2008), figure 3",
    testbed=VIEW_BASED,
    x_label="processes",
    run_seconds=2,
    differs="64^3 points and 8 steps (84 MB) instead of 102^3 and 40; 4 to 16 processes instead of 4"
            " to 64; between the calls processes sleep for a quarter of a second. Times are those of the"
            " calls, as in the paper, where buffers are flushed at the close.",
    lines=(*lines(btio, ALL_AGGREGATE),
           Line("OMPIO, write", "ompio", btio("write"), calls_only=True)),
    claims=(
        Claim("class B: view-based writes up to 2.21 times as fast", 2.21, "section VI.A",
              "view_based, write", "best", "two-phase (ROMIO), write",
              why="with 4 processes; with 9 and 16 on two cores both have what the cores can do"),
        Claim("with the close counted, writes are no slower", 1.0, "section VI.B, of figure 5",
              "view_based, write and close", "mean", "two-phase (ROMIO), write and close",
              in_words=True, why="nothing is written before the close; flushed between the calls it has 1.4, 0.7, 0.5 (4, 9, 16 processes)"),
        Claim("class B: view-based reads up to 2.09 times as fast", 2.09, "section VI.A",
              "view_based, read", "best", "two-phase (ROMIO), read", why=NETWORK),
    ),
)

ON_A_CLUSTER = dataclasses.replace(
    FIGURE,
    name="view-based-fig3-cluster",
    title="BTIO's access pattern, on nodes with gigabit links",
    cluster=Cluster(nodes=16),
    run_seconds=5,
    differs=FIGURE.differs + " Each process on a node of its own, whose messages and file data share"
            " a link of 1 Gbit/s; the paper has InfiniBand.",
    claims=(
        dataclasses.replace(FIGURE.claims[0], why="its own messages between nodes are the limit: 144 MB/s with 4"
                            " processes without emulated servers, too, where ROMIO has 324"),
        dataclasses.replace(FIGURE.claims[1], why="as for the writes; flushed between the calls it has 0.8"),
        FIGURE.claims[2],
    ),
)
