"""View-based collective I/O, table II: how often coll_perf's calls call MPI."""

from ..experiment import Claim, Figure, Job, Line, Servers
from .view_based_fig6 import ALL_AGGREGATE

KINDS = ("point-to-point", "collective")
# Sends, and all of the table's collective calls, of two-phase I/O and of view-based I/O.
PAPERS_CALLS = {"8": {"point-to-point": (288, 576), "collective": (1677, 32)},
                "64": {"point-to-point": (2560, 16384), "collective": (18884, 256)}}


def once(kind: str, name: str, side: str) -> Line:
    jobs = {ranks: (Job("coll-perf", int(ranks), {"side": 512}, "both", sync=False),) for ranks in PAPERS_CALLS}
    return Line(f"{name}, {kind}", side, jobs, hints=ALL_AGGREGATE, calls_of=kind)


FIGURE = Figure(
    name="view-based-table2",
    title="how often coll_perf calls MPI",
    source="View-based collective I/O (CCGrid 2008), table II",
    testbed=Servers("instant", servers=8),
    x_label="processes",
    unit="calls",
    seeds=1,
    ceiling_seeds=0,
    run_seconds=20,
    differs="Counted, not timed, within ROMIO and Unisono in MPI_File_set_view and collective calls, at the paper's size."
            " Every process is on a node of its own.",
    lines=tuple(once(kind, *side) for kind in KINDS
                for side in (("two-phase (ROMIO)", "mpich-tuned"), ("view_based", "unisono-mpich:view_based"))),
    claims=(
        *(Claim(f"view-based sends so many times as many messages, {ranks} processes",
                calls["point-to-point"][1] / calls["point-to-point"][0], "table II", "view_based, point-to-point",
                ranks, "two-phase (ROMIO), point-to-point",
                why="of ROMIO today 1,088 and 6,144 messages (the paper: 288, 2,560), of ours 168 and 12,096 (576,"
                    " 16,384)") for ranks, calls in PAPERS_CALLS.items()),
        *(Claim(f"two-phase makes so many times as many collective calls, {ranks} processes",
                calls["collective"][0] / calls["collective"][1], "table II", "two-phase (ROMIO), collective",
                ranks, "view_based, collective",
                why="of ROMIO today 376 and 1,216 calls (the paper: 1,677, 18,884), of ours 120 and 960 (32, 256): all"
                    " agree before and after each call") for ranks, calls in PAPERS_CALLS.items()),
    ),
)
