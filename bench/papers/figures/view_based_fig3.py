"""View-based collective I/O, figure 3: BTIO's access pattern."""

import dataclasses

from ..experiment import Claim, Cluster, Figure, Job, Line
from .testbeds import VIEW_BASED

RANKS = ("4", "9", "16")
ALL_AGGREGATE = "cb_config_list=*:{ranks},cb_buffer_size=1048576"  # 1 MiB, as BTIO sets it


CLOSE_AND_COPY = ("ours contains the close, the paper's does not; `view_based` copies each byte it"
                  " writes once more [and has fresh memory]")
NETWORK = "[the paper's network makes each list that is saved count]"


def btio(direction: str):
    return {ranks: (Job("btio", int(ranks), {"side": 64, "steps": 8}, direction=direction,
                        sync=False),)
            for ranks in RANKS}


FIGURE = Figure(
    name="view-based-fig3",
    title="BTIO's access pattern",
    source="View-based collective I/O (CCGrid 2008), figure 3",
    testbed=VIEW_BASED,
    x_label="processes",
    run_seconds=2,
    differs="64^3 points and 8 steps (84 MB) instead of 102^3 and 40; 4 to 16 processes instead of 4"
            " to 64; nothing is computed between the calls; the times contain the close.",
    lines=(
        Line("two-phase (ROMIO), write", "mpich-tuned", btio("write"), hints=ALL_AGGREGATE,
             with_close=True),
        Line("view_based, write", "unisono-mpich:view_based", btio("write"), hints=ALL_AGGREGATE,
             with_close=True),
        Line("two-phase (ROMIO), read", "mpich-tuned", btio("read"), hints=ALL_AGGREGATE,
             with_close=True),
        Line("view_based, read", "unisono-mpich:view_based", btio("read"), hints=ALL_AGGREGATE,
             with_close=True),
        Line("OMPIO, write", "ompio", btio("write"), with_close=True),
    ),
    claims=(
        Claim("class B: view-based writes up to 2.21 times as fast", 2.21, "section IV.A",
              "view_based, write", "best", "two-phase (ROMIO), write",
              why=CLOSE_AND_COPY),
        Claim("class B: view-based reads up to 2.09 times as fast", 2.09, "section IV.A",
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
)
