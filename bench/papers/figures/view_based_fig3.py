"""View-based collective I/O, figure 3: BTIO's access pattern."""

import dataclasses
from collections.abc import Mapping

from ..experiment import Claim, Cluster, Figure, Job, Line
from .engine import with_two_phase
from .testbeds import VIEW_BASED

RANKS = ("4", "9", "16")
ALL_AGGREGATE = "cb_config_list=*:{ranks},cb_buffer_size=1048576"  # 1 MiB, as BTIO sets it

NETWORK = "[the paper's network makes each list that is saved count]"


FLUSH_AT_CLOSE = "unisono_flush=close"  # as the paper's view-based does
COMPUTE_S = 0.25  # "around 80 %" of the time (section VI.A)


def btio(direction: str, side: int = 64):
    return {ranks: (Job("btio", int(ranks), {"side": side, "steps": 8, "compute-seconds": COMPUTE_S},
                        direction=direction, sync=False),)
            for ranks in RANKS}


def class_c(direction: str):
    return btio(direction, side=102)


def sides(hints: str) -> tuple[tuple[str, str, str], ...]:
    """Name, side and hints of the paper's two."""
    return (("two-phase (ROMIO)", "mpich-tuned", hints),
            ("view_based", "unisono-mpich:view_based", f"{hints},{FLUSH_AT_CLOSE}"))


def calls(jobs, hints: str) -> tuple[Line, ...]:
    """What a call takes, as the paper counts it."""
    return tuple(Line(f"{name}, {direction}", side, jobs(direction), hints=its, calls_only=True)
                 for direction in ("write", "read") for name, side, its in sides(hints))


def lines(jobs, hints: str) -> tuple[Line, ...]:
    """The same, and with the close, where the paper's flushes."""
    with_close = tuple(Line(f"{name}, write and close", side, jobs("write"), hints=its,
                            with_close=True, calls_only=True) for name, side, its in sides(hints))
    online = Line("view_based, flushed online, write and close", "unisono-mpich:view_based",
                  jobs("write"), hints=hints, with_close=True, calls_only=True)
    return (*with_two_phase((*calls(jobs, hints), *with_close)), online)


FIGURE = Figure(
    name="view-based-fig3",
    title="BTIO's access pattern",
    source="View-based collective I/O (CCGrid 2008), figure 3",
    testbed=VIEW_BASED,
    x_label="processes",
    run_seconds=3.5,
    differs="64^3 points and 8 steps (84 MB) instead of 102^3 and 40; 4 to 16 processes instead of 4"
            " to 64; between the calls processes sleep for a quarter of a second. Times are those of the"
            " calls, as in the paper, where buffers are flushed at the close.",
    lines=(*lines(btio, ALL_AGGREGATE),
           Line("OMPIO, write", "ompio", btio("write"), calls_only=True)),
    claims=(
        Claim("class B: view-based writes up to 2.21 times as fast", 2.21, "section VI.A",
              "view_based, write", "best", "two-phase (ROMIO), write",
              why="with 4 processes; with 9 and 16 (0.7, 0.9) two cores copy for all"),
        Claim("with the close counted, writes are no slower", 1.0, "section VI.B, of figure 5",
              "view_based, write and close", "mean", "two-phase (ROMIO), write and close",
              in_words=True, why="nothing is written before the close; flushed between the calls it has 1.5, 0.7, 0.7 (4, 9, 16 processes)"),
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


def whole(name: str, jobs: Mapping[str, tuple[Job, ...]]) -> tuple[Line, ...]:
    """From the first open to the last close, with what is computed between writes."""
    return with_two_phase(tuple(Line(f"{whose}, {name}", side, jobs, hints=its)
                                for whose, side, its in sides(ALL_AGGREGATE)))


AT_CLOSE = "the close writes what the calls did not; two_phase of our own has 1.0 (B) and 1.1 (C)"

LARGER = Figure(
    name="view-based-fig3-c",
    title="BTIO's access pattern, class C, and whole programs",
    source="View-based collective I/O (CCGrid 2008), figure 3",
    testbed=VIEW_BASED,
    x_label="processes",
    ceiling_seeds=0,
    run_seconds=6,
    differs="102^3 points and 8 steps (340 MB) for class C instead of 162^3 and 40, 64^3 for B instead of 102^3; 4 to"
            " 16 processes instead of 4 to 64. Whole programs open the file, write, sleep for a quarter of a second"
            " between the calls, close it, and read it all in the same way without sleeping.",
    lines=(*with_two_phase(calls(class_c, ALL_AGGREGATE)),
           *whole("class B, whole program", btio("both")), *whole("class C, whole program", class_c("both"))),
    claims=(
        Claim("class C: view-based writes up to 4.1 times as fast", 4.10, "section VI.A",
              "view_based, write", "best", "two-phase (ROMIO), write",
              why="its blocks, not the engine: two_phase of our own has 1.4"),
        Claim("class C: view-based reads up to 1.23 times as fast", 1.23, "section VI.A",
              "view_based, read", "best", "two-phase (ROMIO), read",
              why="two_phase of our own reads at 0.6 to 0.9 of ROMIO's speed, by rings; class B without them as fast as ROMIO"),
        Claim("class B: whole programs take up to 50 % less", 2.0, "section VI.A",
              "view_based, class B, whole program", "best", "two-phase (ROMIO), class B, whole program", why=AT_CLOSE),
        Claim("class C: whole programs take up to 38 % less", 1 / (1 - 0.38), "section VI.A",
              "view_based, class C, whole program", "best", "two-phase (ROMIO), class C, whole program", why=AT_CLOSE),
    ),
)
