"""View-based collective I/O, table I: how much BTIO sends to say what it wants."""

from ..experiment import Claim, Figure, Job, Line, Servers

CALLS = 80  # 40 writes and 40 reads
OPENS = 2  # one to write, one to read
PAPERS_KIB = {"25": (8128.12, 229.30), "36": (9753.75, 475.87), "49": (11379.46, 881.61),
              "64": (13005.00, 1504.00)}
HINTS = "cb_config_list=*:{ranks},cb_buffer_size=1048576"


def one_call() -> dict[str, tuple[Job, ...]]:
    return {ranks: (Job("btio", int(ranks), {"side": 102, "steps": 1}, "write", sync=False),)
            for ranks in PAPERS_KIB}


def claims(ranks: str, two_phase: float, view_based: float) -> tuple[Claim, ...]:
    return (
        Claim(f"two-phase, {ranks} processes", two_phase, "table I", "two-phase (ROMIO)", ranks,
              why="ROMIO sends 16 bytes for each piece; the paper's number is exactly 2"),
        Claim(f"view_based, {ranks} processes", view_based, "table I", "view_based", ranks,
              why="ours has about 320 bytes for each of a view's sqrt(processes) cells, theirs 188 in"
                  " all"),
        Claim(f"two-phase sends so many times as much, {ranks} processes", two_phase / view_based,
              "table I", "two-phase (ROMIO)", ranks, "view_based",
              why="" if ranks == "25" else "our views grow with their cells"),
    )


FIGURE = Figure(
    name="view-based-table1",
    title="what BTIO sends to say what it wants, class B",
    source="View-based collective I/O (CCGrid 2008), table I",
    testbed=Servers("instant", servers=8),
    x_label="processes",
    nodes=0,
    unit="KiB",
    seeds=1,
    ceiling_seeds=0,
    run_seconds=20,
    differs="Counted, not timed: one write at the paper's size, for each of 80 calls (lists) or of two"
            " opens (views). Every process is on a node of its own.",
    lines=(
        Line("two-phase (ROMIO)", "mpich-tuned", one_call(), hints=HINTS, lists_of=CALLS),
        Line("view_based", "unisono-mpich:view_based", one_call(), hints=HINTS, lists_of=OPENS),
    ),
    claims=tuple(claim for ranks, sizes in PAPERS_KIB.items() for claim in claims(ranks, *sizes)),
)
